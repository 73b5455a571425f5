use crate::buried::Buried;
use crate::metrics::JanitorMetrics;
use crate::open::OpenLetters;
use async_trait::async_trait;
use readmark_events::Topic;
use readmark_log::{Record, TopicPartition};
use readmark_runtime::ports::Ports;
use readmark_runtime::progress::Progress;
use readmark_runtime::retry::Retrier;
use readmark_runtime::role::{Role, RoleError};
use std::collections::BTreeSet;

/// The role.
pub struct Janitor {
    pub(crate) ports: Ports,
    pub(crate) retrier: Retrier,
    pub(crate) metrics: JanitorMetrics,
    pub(crate) progress: Progress,
    pub(crate) open: OpenLetters,
    pub(crate) buried: Buried,
    /// When the next round begins, on the clock of `elapsed_ms`.
    pub(crate) next_round_ms: u64,
}

impl Janitor {
    /// The role's name, which names its group.
    pub const NAME: &'static str = "janitor";
    /// What it consumes.
    pub const TOPICS: &'static [Topic] = &[Topic::DeadLetters];

    /// On these ports.
    #[must_use]
    pub fn new(ports: Ports, metrics: JanitorMetrics) -> Self {
        Self {
            retrier: Retrier::new(ports.clock.clone(), Self::NAME),
            ports,
            metrics,
            progress: Progress::default(),
            open: OpenLetters::default(),
            buried: Buried::default(),
            next_round_ms: 0,
        }
    }

    pub(crate) fn show(&self) {
        self.metrics.open.set(i64::try_from(self.open.len()).unwrap_or(i64::MAX));
        self.metrics.buried.set(self.buried.total());
    }
}

#[async_trait]
impl Role for Janitor {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn topics(&self) -> &'static [Topic] {
        Self::TOPICS
    }

    async fn take_over(&mut self, partitions: &[TopicPartition]) -> Result<(), RoleError> {
        self.buried.own(partitions);
        Ok(())
    }

    async fn absorb(&mut self, records: Vec<Record>) -> Result<(), RoleError> {
        self.take_in(records).await
    }

    async fn advance(&mut self) -> Result<(), RoleError> {
        self.round_when_due().await
    }

    /// What waits can't be finished.
    async fn drain(&mut self, _partitions: &[TopicPartition]) -> Result<(), RoleError> {
        Ok(())
    }

    fn forget(&mut self, partitions: &[TopicPartition]) {
        self.open.forget(partitions);
        self.buried.forget(partitions);
        for partition in partitions {
            self.progress.forget(*partition);
        }
        self.show();
    }

    fn next_wake_ms(&self) -> Option<u64> {
        Some(self.next_round_ms)
    }

    fn full(&self) -> BTreeSet<TopicPartition> {
        self.open.full()
    }

    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }
}
