use crate::batch::{ConversationBatch, split};
use crate::group_size::GroupSizes;
use crate::metrics::CatalogMetrics;
use crate::recounts::PendingRecounts;
use crate::step::{Outcome, StepError};
use crate::tools::Tools;
use async_trait::async_trait;
use readmark_events::Topic;
use readmark_log::{NewRecord, Position, Record, TopicPartition};
use readmark_runtime::at_once::{self, Call};
use readmark_runtime::dead_letter::DeadLetters;
use readmark_runtime::metrics::SharedMetrics;
use readmark_runtime::ports::{Ports, Rules};
use readmark_runtime::progress::Progress;
use readmark_runtime::retry::Retrier;
use readmark_runtime::role::{Role, RoleError};
use std::collections::BTreeSet;

/// Conversations handled at once: enough to share the store's group commits, few enough to bound memory.
const CONVERSATIONS_AT_ONCE: usize = 16;

/// The role.
pub struct Catalog {
    tools: Tools,
    dead_letters: DeadLetters,
    progress: Progress,
    recounts: PendingRecounts,
}

impl Catalog {
    /// The role's name, which names its group.
    pub const NAME: &'static str = "catalog";
    /// What it consumes.
    pub const TOPICS: &'static [Topic] = &[Topic::ConversationEvents];

    /// On these ports.
    #[must_use]
    pub fn new(ports: Ports, rules: Rules, shared: SharedMetrics, metrics: CatalogMetrics) -> Self {
        let retrier = Retrier::new(ports.clock.clone(), Self::NAME);
        let dead_letters = DeadLetters::new(ports.clone(), Self::NAME, shared.clone());
        let sizes = GroupSizes::new(ports.clone(), retrier.clone());
        let tools = Tools { ports, rules, retrier, sizes, shared, metrics };
        Self { tools, dead_letters, progress: Progress::default(), recounts: PendingRecounts::default() }
    }

    /// Writes and tells the facts of several conversations at once; each conversation's in their order.
    async fn apply(&self, batches: Vec<ConversationBatch>) -> Result<Vec<Outcome>, RoleError> {
        let tools = &self.tools;
        let mut steps: Vec<Call<'_, Outcome, StepError>> = Vec::new();
        for batch in batches {
            steps.push(Box::pin(batch.apply(tools)));
        }
        at_once::all(CONVERSATIONS_AT_ONCE, steps).await.map_err(StepError::into_role_error)
    }

    async fn produce(&self, records: Vec<NewRecord>) -> Result<(), RoleError> {
        if !records.is_empty() {
            self.tools.retrier.run(|| self.tools.ports.log.append(records.clone())).await?;
        }
        Ok(())
    }

    fn release(&mut self, positions: impl IntoIterator<Item = Position>) {
        for position in positions {
            self.progress.release(position);
        }
    }
}

#[async_trait]
impl Role for Catalog {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn topics(&self) -> &'static [Topic] {
        Self::TOPICS
    }

    async fn absorb(&mut self, records: Vec<Record>) -> Result<(), RoleError> {
        for record in &records {
            self.progress.hold(record.position);
        }
        let (batches, mut letters) = split(records, self.tools.rules.order_source);
        let mut done: Vec<Position> = letters.iter().map(|letter| letter.record.position).collect();
        let outcomes = self.apply(batches).await?;
        let mut told = Vec::new();
        let mut asked = Vec::new();
        for outcome in outcomes {
            letters.extend(outcome.dead_letters);
            told.extend(outcome.records);
            match outcome.recount_above {
                Some(above) => asked.push((outcome.conversation_id, above, outcome.positions)),
                None => done.extend(outcome.positions),
            }
        }
        self.produce(told).await?;
        self.dead_letters.send(&letters).await?;
        let now_ms = self.tools.ports.clock.elapsed_ms();
        for (conversation_id, above, positions) in asked {
            self.recounts.ask(conversation_id, above, positions, now_ms);
        }
        self.release(done);
        self.advance().await
    }

    async fn advance(&mut self) -> Result<(), RoleError> {
        let now_ms = self.tools.ports.clock.elapsed_ms();
        for (conversation_id, recount) in self.recounts.take_due(now_ms) {
            self.recount(&conversation_id, recount).await?;
        }
        Ok(())
    }

    async fn drain(&mut self, partitions: &[TopicPartition]) -> Result<(), RoleError> {
        for (conversation_id, recount) in self.recounts.take_of(partitions) {
            self.recount(&conversation_id, recount).await?;
        }
        Ok(())
    }

    fn forget(&mut self, partitions: &[TopicPartition]) {
        drop(self.recounts.take_of(partitions));
        for partition in partitions {
            self.progress.forget(*partition);
        }
    }

    fn next_wake_ms(&self) -> Option<u64> {
        self.recounts.next_wake_ms()
    }

    fn full(&self) -> BTreeSet<TopicPartition> {
        BTreeSet::new()
    }

    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }
}

impl Catalog {
    async fn recount(
        &mut self,
        conversation_id: &readmark_domain::id::ConversationId,
        recount: crate::recounts::PendingRecount,
    ) -> Result<(), RoleError> {
        let Tools { ports, retrier, .. } = &self.tools;
        let records =
            readmark_runtime::recount::recounts_above(ports, retrier, conversation_id, recount.above).await?;
        self.produce(records).await?;
        self.release(recount.positions);
        Ok(())
    }
}
