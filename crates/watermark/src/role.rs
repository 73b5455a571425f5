use crate::metrics::WatermarkMetrics;
use crate::parcel::Parcel;
use crate::tools::Tools;
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
pub struct Watermark {
    pub(crate) tools: Tools,
    pub(crate) dead_letters: DeadLetters,
    pub(crate) progress: Progress,
    pub(crate) parked: ParkingLot<Parcel>,
}

impl Watermark {
    /// The role's name, which names its group.
    pub const NAME: &'static str = "watermark";
    /// What it consumes.
    pub const TOPICS: &'static [Topic] = &[Topic::Acks, Topic::Marks];

    /// On these ports.
    #[must_use]
    pub fn new(ports: Ports, rules: Rules, shared: SharedMetrics, metrics: WatermarkMetrics) -> Self {
        let retrier = Retrier::new(ports.clock.clone(), Self::NAME);
        let dead_letters = DeadLetters::new(ports.clone(), Self::NAME, shared.clone());
        let tools = Tools { ports, rules, retrier, metrics, shared };
        Self { tools, dead_letters, progress: Progress::default(), parked: ParkingLot::default() }
    }
}

#[async_trait]
impl Role for Watermark {
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
        self.look_at_parked().await
    }

    /// Nothing is held back but what is parked, and that can't be finished.
    async fn drain(&mut self, _partitions: &[TopicPartition]) -> Result<(), RoleError> {
        Ok(())
    }

    fn forget(&mut self, partitions: &[TopicPartition]) {
        self.parked.forget(partitions);
        for partition in partitions {
            self.progress.forget(*partition);
        }
    }

    fn next_wake_ms(&self) -> Option<u64> {
        self.parked.next_wake_ms()
    }

    fn full(&self) -> BTreeSet<TopicPartition> {
        self.parked.full()
    }

    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }
}
