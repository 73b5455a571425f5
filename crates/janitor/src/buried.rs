//! How many letters are buried, for the gauge. Operators take letters out of that state by commands of their own, so
//! it is counted anew, again and again, a bounded part of it at a time.

use readmark_domain::dead_letter::{Outcome, Resolution};
use readmark_log::{Offset, Partition, TopicPartition};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Pause between two counts; a scrape every 10 s sees a fresh value.
const COUNT_EVERY_MS: u64 = 10_000;

/// The part of a partition that is counted next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Next {
    pub partition: Partition,
    pub from: Offset,
}

/// The counts of the partitions that this process owns.
#[derive(Debug, Default)]
pub(crate) struct Buried {
    owned: BTreeSet<Partition>,
    counts: BTreeMap<Partition, i64>,
    /// Partitions that this count still has to go through.
    left: VecDeque<Partition>,
    /// How far it is in the first of them, and what it has found there.
    from: Offset,
    found: i64,
    next_count_ms: u64,
}

impl Buried {
    pub fn own(&mut self, partitions: &[TopicPartition]) {
        for TopicPartition { partition, .. } in partitions {
            if self.owned.insert(*partition) {
                self.left.push_back(*partition);
            }
        }
    }

    pub fn forget(&mut self, partitions: &[TopicPartition]) {
        for TopicPartition { partition, .. } in partitions {
            self.owned.remove(partition);
            self.counts.remove(partition);
            if self.left.front() == Some(partition) {
                (self.from, self.found) = (0, 0);
            }
            self.left.retain(|left| left != partition);
        }
    }

    /// What is to be counted now.
    pub fn next(&mut self, now_ms: u64) -> Option<Next> {
        if self.left.is_empty() && now_ms >= self.next_count_ms {
            self.left = self.owned.iter().copied().collect();
        }
        let partition = *self.left.front()?;
        Some(Next { partition, from: self.from })
    }

    /// These rows were there; `done` when they were the last of the partition.
    pub fn counted(&mut self, rows: &[Resolution], next: Offset, done: bool, now_ms: u64) {
        let Some(partition) = self.left.front().copied() else { return };
        let buried = rows.iter().filter(|row| row.outcome == Outcome::Buried).count();
        self.found = self.found.saturating_add(i64::try_from(buried).unwrap_or(i64::MAX));
        self.from = next;
        if !done {
            return;
        }
        self.counts.insert(partition, self.found);
        self.left.pop_front();
        (self.from, self.found) = (0, 0);
        if self.left.is_empty() {
            self.next_count_ms = now_ms + COUNT_EVERY_MS;
        }
    }

    /// This process has buried one more.
    pub fn add(&mut self, partition: Partition) {
        *self.counts.entry(partition).or_default() += 1;
    }

    pub fn total(&self) -> i64 {
        self.counts.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmark_domain::dead_letter::Actor;
    use readmark_domain::time::TimeMs;
    use readmark_events::Topic;

    fn partition(partition: u32) -> TopicPartition {
        TopicPartition { topic: Topic::DeadLetters, partition }
    }

    fn row(outcome: Outcome) -> Resolution {
        Resolution { at: TimeMs::ZERO, outcome, by: Actor::Janitor }
    }

    #[test]
    fn every_partition_is_counted_again_and_again() {
        let mut buried = Buried::default();
        assert_eq!(buried.next(0), None);
        buried.own(&[partition(0), partition(3)]);
        assert_eq!(buried.next(0), Some(Next { partition: 0, from: 0 }));
        buried.counted(&[row(Outcome::Buried), row(Outcome::Dropped)], 500, false, 0);
        assert_eq!(buried.next(0), Some(Next { partition: 0, from: 500 }));
        assert_eq!(buried.total(), 0, "half a count says nothing");
        buried.counted(&[row(Outcome::Buried)], 700, true, 0);
        assert_eq!((buried.next(0), buried.total()), (Some(Next { partition: 3, from: 0 }), 2));
        buried.counted(&[row(Outcome::Redelivered)], 1, true, 100);
        assert_eq!((buried.next(100), buried.total()), (None, 2));
        buried.add(3);
        assert_eq!(buried.total(), 3);
        assert_eq!(buried.next(100 + COUNT_EVERY_MS), Some(Next { partition: 0, from: 0 }));
        buried.counted(&[row(Outcome::Redelivered)], 700, true, 0);
        assert_eq!(buried.total(), 1, "an operator has taken two of them out");
    }

    #[test]
    fn a_partition_that_is_gone_counts_no_more() {
        let mut buried = Buried::default();
        buried.own(&[partition(0), partition(1)]);
        buried.counted(&[row(Outcome::Buried)], 9, true, 0);
        buried.counted(&[row(Outcome::Buried)], 9, false, 0);
        buried.forget(&[partition(1)]);
        assert_eq!(buried.total(), 1);
        assert_eq!(buried.next(0), Some(Next { partition: 0, from: 0 }), "the next count");
        buried.counted(&[], 9, true, 0);
        buried.own(&[partition(1)]);
        assert_eq!(buried.next(0), Some(Next { partition: 1, from: 0 }), "at once, and from its beginning");
        buried.counted(&[], 9, true, 0);
        assert_eq!(buried.total(), 0);
    }
}
