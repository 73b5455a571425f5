use async_trait::async_trait;
use futures::future::BoxFuture;
use readmark_domain::hot::{Applied, Completed, Epoch, Picture, SyncToken, Synced};
use readmark_domain::id::{ConversationId, Uid};
use readmark_hot::memory::MemoryHot;
use readmark_hot::{
    Begun, Held, HotError, HotErrorKind, HotState, TallyTold, Usage, UserChange, Wakeups, Watch,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What is done in the middle of an operation.
pub type Work = BoxFuture<'static, ()>;

/// A hot state that can be away, counts its calls, and lets something happen in the middle of a rebuild.
pub struct AwayHot {
    inner: Arc<MemoryHot>,
    away: AtomicBool,
    /// Calls answered until it goes away by itself.
    answers_left: AtomicU64,
    calls: Mutex<BTreeMap<&'static str, u64>>,
    after_begin: Mutex<Option<Work>>,
}

impl AwayHot {
    pub fn new(inner: Arc<MemoryHot>) -> Self {
        Self {
            inner,
            away: AtomicBool::new(false),
            answers_left: AtomicU64::new(u64::MAX),
            calls: Mutex::default(),
            after_begin: Mutex::default(),
        }
    }

    /// The state itself, which is never away.
    pub fn inner(&self) -> Arc<MemoryHot> {
        self.inner.clone()
    }

    pub fn set_away(&self, away: bool) {
        self.away.store(away, Ordering::SeqCst);
    }

    /// Answers so many calls, then is away.
    pub fn away_after(&self, calls: u64) {
        self.answers_left.store(calls, Ordering::SeqCst);
    }

    /// Calls of one kind so far.
    pub fn calls(&self, operation: &str) -> u64 {
        self.calls.lock().unwrap().get(operation).copied().unwrap_or_default()
    }

    /// This happens once, right after the next rebuild has begun.
    pub fn after_begin(&self, work: Work) {
        *self.after_begin.lock().unwrap() = Some(work);
    }

    fn answers(&self, operation: &'static str) -> Result<(), HotError> {
        *self.calls.lock().unwrap().entry(operation).or_default() += 1;
        let none_left = self
            .answers_left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
            .is_err();
        if none_left || self.away.load(Ordering::SeqCst) {
            return Err(HotError::new(operation, "anywhere", HotErrorKind::Unavailable, "told to be away"));
        }
        Ok(())
    }
}

#[async_trait]
impl HotState for AwayHot {
    async fn apply(&self, changes: &[UserChange]) -> Vec<Result<Option<Applied>, HotError>> {
        match self.answers("apply") {
            Ok(()) => self.inner.apply(changes).await,
            Err(error) => changes.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    async fn apply_tallies(&self, tallies: &[TallyTold]) -> Vec<Result<Option<Applied>, HotError>> {
        match self.answers("apply_tallies") {
            Ok(()) => self.inner.apply_tallies(tallies).await,
            Err(error) => tallies.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    async fn entries(&self, uid: Uid, since: &SyncToken, limit: usize) -> Result<Held<Synced>, HotError> {
        self.answers("entries")?;
        self.inner.entries(uid, since, limit).await
    }

    async fn picture(&self, uid: Uid, only: Option<&[ConversationId]>) -> Result<Held<Picture>, HotError> {
        self.answers(if only.is_some() { "picture_of" } else { "picture" })?;
        self.inner.picture(uid, only).await
    }

    async fn touch(&self, uid: Uid) -> Result<Held<()>, HotError> {
        self.answers("touch")?;
        self.inner.touch(uid).await
    }

    async fn begin_rebuild(&self, uid: Uid) -> Result<Begun, HotError> {
        self.answers("begin_rebuild")?;
        let begun = self.inner.begin_rebuild(uid).await?;
        let work = self.after_begin.lock().unwrap().take_if(|_| matches!(begun, Begun::Rebuild(_)));
        if let Some(work) = work {
            work.await;
        }
        Ok(begun)
    }

    async fn complete_rebuild(&self, uid: Uid, epoch: &Epoch) -> Result<Completed, HotError> {
        self.answers("complete_rebuild")?;
        self.inner.complete_rebuild(uid, epoch).await
    }

    async fn forget(&self, uid: Uid) -> Result<(), HotError> {
        self.answers("forget")?;
        self.inner.forget(uid).await
    }

    async fn forget_all(&self) -> Result<(), HotError> {
        self.answers("forget_all")?;
        self.inner.forget_all().await
    }

    async fn subscribe(&self) -> Result<(Arc<dyn Watch>, Wakeups), HotError> {
        self.answers("subscribe")?;
        self.inner.subscribe().await
    }

    async fn probe(&self) -> Result<(), HotError> {
        self.answers("probe")?;
        self.inner.probe().await
    }

    async fn usage(&self) -> Result<Usage, HotError> {
        self.answers("usage")?;
        self.inner.usage().await
    }
}
