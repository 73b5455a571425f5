use crate::knowledge::Knowledge;
use crate::metrics::AggregatorMetrics;
use crate::parked::ParkedReceipts;
use crate::window::Windows;
use async_trait::async_trait;
use readmark_events::Topic;
use readmark_log::{Record, TopicPartition};
use readmark_runtime::dead_letter::DeadLetters;
use readmark_runtime::metrics::SharedMetrics;
use readmark_runtime::parking::ParkingLot;
use readmark_runtime::ports::{Ports, Rules};
use readmark_runtime::progress::Progress;
use readmark_runtime::retry::Retrier;
use readmark_runtime::role::{Role, RoleError};
use std::collections::BTreeSet;

/// The role.
pub struct Aggregator {
    pub(crate) ports: Ports,
    pub(crate) rules: Rules,
    pub(crate) retrier: Retrier,
    pub(crate) metrics: AggregatorMetrics,
    pub(crate) shared: SharedMetrics,
    pub(crate) dead_letters: DeadLetters,
    pub(crate) progress: Progress,
    pub(crate) knowledge: Knowledge,
    pub(crate) windows: Windows,
    pub(crate) parked: ParkingLot<ParkedReceipts>,
}

impl Aggregator {
    /// The role's name, which names its group.
    pub const NAME: &'static str = "aggregator";
    /// What it consumes.
    pub const TOPICS: &'static [Topic] = &[Topic::Acks];

    /// On these ports.
    #[must_use]
    pub fn new(ports: Ports, rules: Rules, shared: SharedMetrics, metrics: AggregatorMetrics) -> Self {
        let retrier = Retrier::new(ports.clock.clone(), Self::NAME);
        Self {
            dead_letters: DeadLetters::new(ports.clone(), Self::NAME, shared.clone()),
            knowledge: Knowledge::new(ports.clone(), rules.clone(), retrier.clone()),
            progress: Progress::default(),
            windows: Windows::default(),
            parked: ParkingLot::default(),
            ports,
            rules,
            retrier,
            metrics,
            shared,
        }
    }
}

#[async_trait]
impl Role for Aggregator {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn topics(&self) -> &'static [Topic] {
        Self::TOPICS
    }

    async fn absorb(&mut self, records: Vec<Record>) -> Result<(), RoleError> {
        self.take_in(records).await
    }

    async fn advance(&mut self) -> Result<(), RoleError> {
        self.look_at_parked().await?;
        self.flush_due().await
    }

    async fn drain(&mut self, partitions: &[TopicPartition]) -> Result<(), RoleError> {
        let windows = self.windows.take_of(partitions);
        self.flush(windows).await
    }

    fn forget(&mut self, partitions: &[TopicPartition]) {
        drop(self.windows.take_of(partitions));
        self.parked.forget(partitions);
        self.knowledge.clear();
        for partition in partitions {
            self.progress.forget(*partition);
        }
    }

    fn next_wake_ms(&self) -> Option<u64> {
        [self.windows.next_due_ms(), self.parked.next_wake_ms()].into_iter().flatten().min()
    }

    fn full(&self) -> BTreeSet<TopicPartition> {
        self.parked.full()
    }

    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }
}
