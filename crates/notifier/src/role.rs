use crate::continuity::Continuity;
use crate::fan_out::FanOuts;
use crate::groups::Groups;
use crate::metrics::NotifierMetrics;
use crate::tell::Teller;
use crate::windows::Windows;
use async_trait::async_trait;
use lru::LruCache;
use readmark_domain::id::ConversationId;
use readmark_events::Topic;
use readmark_hot::HotState;
use readmark_log::{Group, Position, Record, TopicPartition};
use readmark_runtime::dead_letter::DeadLetters;
use readmark_runtime::metrics::SharedMetrics;
use readmark_runtime::ports::{Ports, Rules};
use readmark_runtime::progress::Progress;
use readmark_runtime::retry::Retrier;
use readmark_runtime::role::{Role, RoleError};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Large conversations of which it is remembered that their members know; of a forgotten one they are told again, which
/// changes nothing.
const ANNOUNCED_AT_MOST: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();

/// The role.
pub struct Notifier {
    pub(crate) ports: Ports,
    pub(crate) retrier: Retrier,
    pub(crate) metrics: NotifierMetrics,
    pub(crate) dead_letters: DeadLetters,
    pub(crate) progress: Progress,
    pub(crate) continuity: Continuity,
    pub(crate) teller: Teller,
    pub(crate) groups: Groups,
    pub(crate) windows: Windows,
    pub(crate) fan_outs: FanOuts,
    /// Large conversations whose members have all been told that they are.
    pub(crate) announced: LruCache<ConversationId, ()>,
    group: Group,
}

impl Notifier {
    /// The role's name, which names its group.
    pub const NAME: &'static str = "notifier";
    /// What it consumes.
    pub const TOPICS: &'static [Topic] = &[Topic::ConversationChanged, Topic::ReadChanged];

    /// On these ports.
    #[must_use]
    pub fn new(
        ports: Ports,
        hot: Arc<dyn HotState>,
        rules: &Rules,
        shared: SharedMetrics,
        metrics: NotifierMetrics,
    ) -> Self {
        let retrier = Retrier::new(ports.clock.clone(), Self::NAME);
        Self {
            dead_letters: DeadLetters::new(ports.clone(), Self::NAME, shared),
            teller: Teller::new(hot, ports.clone(), retrier.clone(), metrics.clone()),
            groups: Groups::new(ports.clone(), retrier.clone()),
            progress: Progress::default(),
            continuity: Continuity::default(),
            windows: Windows::default(),
            fan_outs: FanOuts::default(),
            announced: LruCache::new(ANNOUNCED_AT_MOST),
            group: rules.group(Self::NAME),
            ports,
            retrier,
            metrics,
        }
    }

    /// Records are gone that nobody was told of, up to this position.
    pub(crate) async fn renew(&mut self, gone: Option<Position>) -> Result<(), RoleError> {
        if let Some(start) = gone {
            tracing::warn!(
                partition = %start.partition, offset = start.offset,
                "records were removed before the notifier had handled them: every user's state is made anew"
            );
            self.teller.forget_all().await?;
        }
        Ok(())
    }
}

#[async_trait]
impl Role for Notifier {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn topics(&self) -> &'static [Topic] {
        Self::TOPICS
    }

    async fn take_over(&mut self, partitions: &[TopicPartition]) -> Result<(), RoleError> {
        let mut gone = Vec::new();
        for partition in partitions {
            let (log, retrier) = (&*self.ports.log, &self.retrier);
            gone.extend(self.continuity.take_over(log, retrier, &self.group, *partition).await?);
        }
        self.renew(gone.first().copied()).await?;
        for start in gone {
            // Also where no record follows: else each start would renew again.
            self.progress.skip_to(start);
        }
        Ok(())
    }

    async fn absorb(&mut self, records: Vec<Record>) -> Result<(), RoleError> {
        self.take_in(records).await
    }

    async fn advance(&mut self) -> Result<(), RoleError> {
        self.round().await
    }

    async fn drain(&mut self, partitions: &[TopicPartition]) -> Result<(), RoleError> {
        self.windows.close(partitions);
        while self.windows.has_of(partitions) || self.fan_outs.has_of(partitions) {
            self.round().await?;
        }
        Ok(())
    }

    fn forget(&mut self, partitions: &[TopicPartition]) {
        self.windows.forget(partitions);
        self.fan_outs.forget(partitions);
        self.groups.clear();
        for partition in partitions {
            self.progress.forget(*partition);
            self.continuity.forget(*partition);
        }
    }

    fn next_wake_ms(&self) -> Option<u64> {
        if self.fan_outs.is_empty() {
            self.windows.next_due_ms()
        } else {
            Some(self.ports.clock.elapsed_ms())
        }
    }

    /// Never: where too much is open, members are told before more is taken in.
    fn full(&self) -> BTreeSet<TopicPartition> {
        BTreeSet::new()
    }

    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }
}
