use async_trait::async_trait;
use readmark_domain::hot::{Applied, Completed, Epoch, Picture, SyncToken, Synced};
use readmark_domain::id::{ConversationId, Uid};
use readmark_hot::memory::MemoryHot;
use readmark_hot::{
    Begun, Held, HotError, HotErrorKind, HotState, TallyTold, Usage, UserChange, Wakeups, Watch,
};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// The hot state in memory, which can be away and remembers whom it was told of.
pub struct TestHot {
    pub inner: MemoryHot,
    /// So many calls fail, every second one after it took effect.
    pub failures: AtomicU32,
    /// Of each call, whose changes it brought.
    pub calls: Mutex<Vec<Vec<(Uid, ConversationId)>>>,
}

impl TestHot {
    pub fn new(inner: MemoryHot) -> Self {
        Self { inner, failures: AtomicU32::new(0), calls: Mutex::default() }
    }

    fn fails(&self) -> Option<u32> {
        let one_less = |left: u32| left.checked_sub(1);
        self.failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).ok()
    }
}

fn away<T>(count: usize) -> Vec<Result<T, HotError>> {
    let error = || HotError::new("apply", "a test", HotErrorKind::Unavailable, "told to be away");
    (0..count).map(|_| Err(error())).collect()
}

#[async_trait]
impl HotState for TestHot {
    async fn apply(&self, changes: &[UserChange]) -> Vec<Result<Option<Applied>, HotError>> {
        let whose = changes.iter().map(|told| (told.uid, told.conversation_id.clone())).collect();
        self.calls.lock().unwrap().push(whose);
        match self.fails() {
            None => self.inner.apply(changes).await,
            Some(left) => {
                if left % 2 == 0 {
                    self.inner.apply(changes).await;
                }
                away(changes.len())
            }
        }
    }

    async fn apply_tallies(&self, tallies: &[TallyTold]) -> Vec<Result<Option<Applied>, HotError>> {
        match self.fails() {
            None => self.inner.apply_tallies(tallies).await,
            Some(_) => away(tallies.len()),
        }
    }

    async fn entries(&self, uid: Uid, since: &SyncToken, limit: usize) -> Result<Held<Synced>, HotError> {
        self.inner.entries(uid, since, limit).await
    }

    async fn picture(&self, uid: Uid, only: Option<&[ConversationId]>) -> Result<Held<Picture>, HotError> {
        self.inner.picture(uid, only).await
    }

    async fn touch(&self, uid: Uid) -> Result<Held<()>, HotError> {
        self.inner.touch(uid).await
    }

    async fn begin_rebuild(&self, uid: Uid) -> Result<Begun, HotError> {
        self.inner.begin_rebuild(uid).await
    }

    async fn complete_rebuild(&self, uid: Uid, epoch: &Epoch) -> Result<Completed, HotError> {
        self.inner.complete_rebuild(uid, epoch).await
    }

    async fn forget(&self, uid: Uid) -> Result<(), HotError> {
        self.inner.forget(uid).await
    }

    async fn forget_all(&self) -> Result<(), HotError> {
        self.inner.forget_all().await
    }

    async fn subscribe(&self) -> Result<(Arc<dyn Watch>, Wakeups), HotError> {
        self.inner.subscribe().await
    }

    async fn probe(&self) -> Result<(), HotError> {
        self.inner.probe().await
    }

    async fn usage(&self) -> Result<Usage, HotError> {
        self.inner.usage().await
    }
}
