//! Being sure before refusing: has the catalog applied what the log held when the request came?

use crate::problem::{Kind, Problem};
use readmark_domain::id::ConversationId;
use readmark_events::Topic;
use readmark_log::{EventLog, Group, Offset, TopicPartition};
use readmark_runtime::clock::Clock;
use readmark_runtime::ports::{Ports, Rules};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How long a request waits to be sure, or for its fact to be applied.
pub const LIMIT_MS: u64 = 2_000;
/// First pause between two looks: an idle embedded catalog is done by then.
const FIRST_PAUSE_MS: u64 = 2;
/// Longest pause: a twentieth of what a person notices, and 40 looks a request at most.
const LONGEST_PAUSE_MS: u64 = 50;

/// Pauses between looks at something that is awaited, up to a limit.
pub struct Wait<'a> {
    clock: &'a dyn Clock,
    deadline_ms: u64,
    pause_ms: u64,
}

impl<'a> Wait<'a> {
    /// Waits up to [`LIMIT_MS`] from now on.
    #[must_use]
    pub fn new(clock: &'a dyn Clock) -> Self {
        Self { clock, deadline_ms: clock.elapsed_ms() + LIMIT_MS, pause_ms: FIRST_PAUSE_MS }
    }

    /// Pauses before the next look, each time twice as long; `false` when the time is up.
    pub async fn pause(&mut self) -> bool {
        let left_ms = self.deadline_ms.saturating_sub(self.clock.elapsed_ms());
        if left_ms == 0 {
            return false;
        }
        self.clock.sleep_ms(self.pause_ms.min(left_ms)).await;
        self.pause_ms = (self.pause_ms * 2).min(LONGEST_PAUSE_MS);
        true
    }
}

/// Makes a refusal final: the catalog has applied all that the log held of a conversation.
#[derive(Clone)]
pub struct Sure {
    log: Arc<dyn EventLog>,
    clock: Arc<dyn Clock>,
    catalog: Group,
}

/// What the catalog has still to apply: partitions, and up to where.
type Behind = Vec<(TopicPartition, Offset)>;

impl Sure {
    /// For an installation.
    #[must_use]
    pub fn new(ports: &Ports, rules: &Rules) -> Self {
        Self { log: ports.log.clone(), clock: ports.clock.clone(), catalog: rules.group("catalog") }
    }

    /// Looks again after a look that was refused: until one is not, or until everything that now stands in the
    /// log about these conversations is applied, when a last look says what is final. The looks meanwhile are
    /// there because what is awaited mostly shows long before: the catalog stores its position only when its
    /// recounts, merged by the second, are out.
    ///
    /// The end of the log is taken here and not when the request came: later is only surer, and a request that
    /// is not in doubt never asks.
    ///
    /// # Errors
    /// 503 when that takes longer than [`LIMIT_MS`], or the log is away; and what `look` fails with.
    pub async fn look_again<T, R, F>(
        &self,
        conversations: impl IntoIterator<Item = &ConversationId>,
        look: impl Fn() -> F,
    ) -> Result<Result<T, R>, Problem>
    where
        F: Future<Output = Result<Result<T, R>, Problem>>,
    {
        let mut behind = self.ends(conversations).await?;
        let mut wait = Wait::new(&*self.clock);
        loop {
            // The position first: the look that follows then sees all that was applied up to it.
            let sure = self.has_applied(&mut behind).await?;
            let seen = look().await?;
            if sure || seen.is_ok() {
                return Ok(seen);
            }
            if !wait.pause().await {
                let detail = "the catalog is behind, so this can't be refused for sure yet";
                return Err(Problem::new(Kind::NotSureYet, detail));
            }
        }
    }

    async fn ends(
        &self,
        conversations: impl IntoIterator<Item = &ConversationId>,
    ) -> Result<Behind, Problem> {
        let topic = Topic::ConversationEvents;
        let partition_of = |id: &ConversationId| self.log.partition_of(topic, id.as_str().as_bytes());
        let partitions: BTreeSet<u32> = conversations.into_iter().map(partition_of).collect();
        let mut ends = Behind::new();
        for partition in partitions {
            let partition = TopicPartition { topic, partition };
            ends.push((partition, self.log.end_offset(partition).await?));
        }
        Ok(ends)
    }

    /// Takes away what is applied; is nothing left?
    async fn has_applied(&self, behind: &mut Behind) -> Result<bool, Problem> {
        while let Some((partition, end)) = behind.last().copied() {
            let position = self.log.committed(&self.catalog, partition).await?.unwrap_or(0);
            if position < end {
                return Ok(false);
            }
            behind.pop();
        }
        Ok(true)
    }
}
