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

/// Makes a refusal final: waits until the catalog has applied all that the log held of a conversation.
#[derive(Clone)]
pub struct Sure {
    log: Arc<dyn EventLog>,
    clock: Arc<dyn Clock>,
    catalog: Group,
}

impl Sure {
    /// For an installation.
    #[must_use]
    pub fn new(ports: &Ports, rules: &Rules) -> Self {
        Self { log: ports.log.clone(), clock: ports.clock.clone(), catalog: rules.group("catalog") }
    }

    /// Returns when everything that now stands in the log about these conversations is applied. The end of
    /// the log is taken here and not when the request came: later is only surer, and a request that is
    /// not in doubt never asks.
    ///
    /// # Errors
    /// 503 when that takes longer than [`LIMIT_MS`], or the log is away.
    pub async fn of(&self, conversations: impl IntoIterator<Item = &ConversationId>) -> Result<(), Problem> {
        let topic = Topic::ConversationEvents;
        let partitions: BTreeSet<TopicPartition> = conversations
            .into_iter()
            .map(|id| TopicPartition {
                topic,
                partition: self.log.partition_of(topic, id.as_str().as_bytes()),
            })
            .collect();
        let mut behind: Vec<(TopicPartition, Offset)> = Vec::new();
        for partition in partitions {
            behind.push((partition, self.log.end_offset(partition).await?));
        }
        let mut wait = Wait::new(&*self.clock);
        loop {
            while let Some((partition, end)) = behind.last().copied() {
                let position = self.log.committed(&self.catalog, partition).await?.unwrap_or(0);
                if position < end {
                    break;
                }
                behind.pop();
            }
            if behind.is_empty() {
                return Ok(());
            }
            if !wait.pause().await {
                let detail = "the catalog is behind, so this can't be refused for sure yet";
                return Err(Problem::new(Kind::NotSureYet, detail));
            }
        }
    }
}
