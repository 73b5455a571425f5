//! How long a hot state takes.

use async_trait::async_trait;
use prometheus::{Histogram, HistogramOpts, Registry, exponential_buckets};
use readmark_domain::hot::{Applied, Completed, Epoch, Picture, SyncToken, Synced};
use readmark_domain::id::{ConversationId, Uid};
use readmark_hot::{Begun, Held, HotError, HotState, TallyTold, Usage, UserChange, Wakeups, Watch};
use std::sync::Arc;

/// A hot state whose scripts are timed, each call of this process as a whole: what waits for a connection, and what is
/// sent again, is in it. Probes and walks through all users are no scripts and are left out.
pub struct TimedHot {
    inner: Arc<dyn HotState>,
    script_seconds: Histogram,
}

impl TimedHot {
    /// Around another one.
    ///
    /// # Errors
    /// When the metric is registered already.
    pub fn new(inner: Arc<dyn HotState>, registry: &Registry) -> Result<Self, prometheus::Error> {
        // 0.1 ms … 3.3 s; calls end after 2.5 s.
        let buckets = exponential_buckets(0.000_1, 2.0, 16)?;
        let script_seconds = Histogram::with_opts(
            HistogramOpts::new("readmark_hot_script_seconds", "Duration of calls of the hot state.")
                .buckets(buckets),
        )?;
        registry.register(Box::new(script_seconds.clone()))?;
        Ok(Self { inner, script_seconds })
    }

    async fn timed<T>(&self, call: impl Future<Output = T>) -> T {
        let timer = self.script_seconds.start_timer();
        let answer = call.await;
        timer.observe_duration();
        answer
    }
}

#[async_trait]
impl HotState for TimedHot {
    async fn apply(&self, changes: &[UserChange]) -> Vec<Result<Option<Applied>, HotError>> {
        self.timed(self.inner.apply(changes)).await
    }

    async fn apply_tallies(&self, tallies: &[TallyTold]) -> Vec<Result<Option<Applied>, HotError>> {
        self.timed(self.inner.apply_tallies(tallies)).await
    }

    async fn entries(&self, uid: Uid, since: &SyncToken, limit: usize) -> Result<Held<Synced>, HotError> {
        self.timed(self.inner.entries(uid, since, limit)).await
    }

    async fn picture(&self, uid: Uid, only: Option<&[ConversationId]>) -> Result<Held<Picture>, HotError> {
        self.timed(self.inner.picture(uid, only)).await
    }

    async fn touch(&self, uid: Uid) -> Result<Held<()>, HotError> {
        self.timed(self.inner.touch(uid)).await
    }

    async fn begin_rebuild(&self, uid: Uid) -> Result<Begun, HotError> {
        self.timed(self.inner.begin_rebuild(uid)).await
    }

    async fn complete_rebuild(&self, uid: Uid, epoch: &Epoch) -> Result<Completed, HotError> {
        self.timed(self.inner.complete_rebuild(uid, epoch)).await
    }

    async fn forget(&self, uid: Uid) -> Result<(), HotError> {
        self.timed(self.inner.forget(uid)).await
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
