//! Recounts, merged per conversation and second: a burst of leaves in a large group tells each sender once,
//! not once per leave. The first of a burst goes out at once.

use readmark_domain::id::{ConversationId, Seq};
use readmark_log::{Position, TopicPartition};
use std::collections::BTreeMap;

/// At most one recount per conversation in this time.
const MERGED_FOR_MS: u64 = 1_000;
/// Conversations whose last recount is remembered; beyond it the oldest are forgotten, which only makes a
/// recount come sooner.
const REMEMBERED: usize = 10_000;

/// A recount that is due or will be.
#[derive(Debug, Default)]
pub(crate) struct PendingRecount {
    /// Messages above this seq.
    pub above: Seq,
    /// Records whose offsets it holds.
    pub positions: Vec<Position>,
    due_ms: u64,
}

/// Recounts asked for and not produced yet.
#[derive(Debug, Default)]
pub(crate) struct PendingRecounts {
    pending: BTreeMap<ConversationId, PendingRecount>,
    last_ms: BTreeMap<ConversationId, u64>,
}

impl PendingRecounts {
    /// Asks for one; a pending one of the same conversation takes it in.
    pub fn ask(&mut self, id: ConversationId, above: Seq, positions: Vec<Position>, now_ms: u64) {
        let due_ms =
            self.last_ms.get(&id).map_or(now_ms, |last| last.saturating_add(MERGED_FOR_MS).max(now_ms));
        let recount =
            self.pending.entry(id).or_insert(PendingRecount { above, positions: Vec::new(), due_ms });
        recount.above = recount.above.min(above);
        recount.positions.extend(positions);
    }

    /// Those that are due.
    pub fn take_due(&mut self, now_ms: u64) -> Vec<(ConversationId, PendingRecount)> {
        let due: Vec<ConversationId> =
            self.pending.iter().filter(|(_, r)| r.due_ms <= now_ms).map(|(id, _)| id.clone()).collect();
        if self.last_ms.len() + due.len() > REMEMBERED {
            self.last_ms.retain(|_, last| now_ms.saturating_sub(*last) < MERGED_FOR_MS);
        }
        for id in &due {
            self.last_ms.insert(id.clone(), now_ms);
        }
        due.into_iter().filter_map(|id| self.pending.remove_entry(&id)).collect()
    }

    /// Those of these partitions, due or not.
    pub fn take_of(&mut self, partitions: &[TopicPartition]) -> Vec<(ConversationId, PendingRecount)> {
        let concerned = |r: &PendingRecount| r.positions.iter().any(|p| partitions.contains(&p.partition));
        let ids: Vec<ConversationId> =
            self.pending.iter().filter(|(_, r)| concerned(r)).map(|(id, _)| id.clone()).collect();
        ids.into_iter().filter_map(|id| self.pending.remove_entry(&id)).collect()
    }

    /// When the next one is due.
    pub fn next_wake_ms(&self) -> Option<u64> {
        self.pending.values().map(|recount| recount.due_ms).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_goes_at_once_and_a_burst_is_merged() {
        let id = ConversationId::new("c").unwrap();
        let mut recounts = PendingRecounts::default();
        recounts.ask(id.clone(), Seq::new(7).unwrap(), vec![], 100);
        assert_eq!(recounts.take_due(100).len(), 1);
        recounts.ask(id.clone(), Seq::new(9).unwrap(), vec![], 150);
        recounts.ask(id, Seq::new(3).unwrap(), vec![], 160);
        assert!(recounts.take_due(1_099).is_empty());
        let due = recounts.take_due(1_100);
        assert_eq!(due.len(), 1);
        assert_eq!(due[0].1.above, Seq::new(3).unwrap());
    }
}
