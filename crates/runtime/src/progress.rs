//! Which offset may be stored: the lowest one still at work, never one past it (RR-7).

use readmark_log::{Offset, Position, TopicPartition};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
struct PartitionProgress {
    /// Offset after the highest record seen.
    next: Offset,
    /// Offsets still at work, and by how many pieces of work.
    held: BTreeMap<Offset, u32>,
    /// The position stored last.
    stored: Option<Offset>,
}

impl PartitionProgress {
    fn position(&self) -> Offset {
        self.held.first_key_value().map_or(self.next, |(offset, _)| *offset)
    }
}

/// What a consumer has at work, by partition.
#[derive(Debug, Default)]
pub struct Progress {
    partitions: BTreeMap<TopicPartition, PartitionProgress>,
}

impl Progress {
    /// A record was taken over; it holds its offset once more.
    pub fn hold(&mut self, position: Position) {
        let partition = self.partitions.entry(position.partition).or_default();
        partition.next = partition.next.max(position.offset + 1);
        *partition.held.entry(position.offset).or_insert(0) += 1;
    }

    /// Everything before this position is done with, though no record says so: what lay there is gone.
    pub fn skip_to(&mut self, position: Position) {
        let partition = self.partitions.entry(position.partition).or_default();
        partition.next = partition.next.max(position.offset);
    }

    /// One piece of a record's work is durable and announced.
    pub fn release(&mut self, position: Position) {
        let Some(partition) = self.partitions.get_mut(&position.partition) else { return };
        if let Some(holds) = partition.held.get_mut(&position.offset) {
            *holds -= 1;
            if *holds == 0 {
                partition.held.remove(&position.offset);
            }
        }
    }

    /// The partition went to somebody else.
    pub fn forget(&mut self, partition: TopicPartition) {
        self.partitions.remove(&partition);
    }

    /// Positions that have moved since they were stored.
    #[must_use]
    pub fn to_store(&self) -> Vec<(TopicPartition, Offset)> {
        let moved = |(at, p): (&TopicPartition, &PartitionProgress)| {
            let position = p.position();
            (p.stored.is_none_or(|stored| stored < position)).then_some((*at, position))
        };
        self.partitions.iter().filter_map(moved).collect()
    }

    /// These positions are stored.
    pub fn stored(&mut self, positions: &[(TopicPartition, Offset)]) {
        for (at, position) in positions {
            if let Some(partition) = self.partitions.get_mut(at) {
                partition.stored = Some(*position);
            }
        }
    }

    /// Records at work in all partitions.
    #[must_use]
    pub fn held_count(&self) -> usize {
        self.partitions.values().map(|p| p.held.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmark_events::Topic;

    fn at(offset: Offset) -> Position {
        Position { partition: TopicPartition { topic: Topic::Acks, partition: 0 }, offset }
    }

    #[test]
    fn the_lowest_offset_at_work_bounds_the_position() {
        let mut progress = Progress::default();
        for offset in [4, 5, 6, 7] {
            progress.hold(at(offset));
        }
        progress.release(at(5));
        progress.release(at(7));
        assert_eq!(progress.to_store(), [(at(0).partition, 4)]);
        progress.release(at(4));
        assert_eq!(progress.to_store(), [(at(0).partition, 6)]);
        progress.release(at(6));
        assert_eq!(progress.to_store(), [(at(0).partition, 8)]);
    }

    #[test]
    fn a_record_in_two_pieces_is_done_when_both_are() {
        let mut progress = Progress::default();
        progress.hold(at(4));
        progress.hold(at(4));
        progress.release(at(4));
        assert_eq!(progress.to_store(), [(at(0).partition, 4)]);
        progress.release(at(4));
        assert_eq!(progress.to_store(), [(at(0).partition, 5)]);
    }

    #[test]
    fn what_is_skipped_is_stored_once_it_is_passed() {
        let mut progress = Progress::default();
        progress.skip_to(at(9));
        assert_eq!(progress.to_store(), [(at(0).partition, 9)]);
        progress.hold(at(9));
        assert_eq!(progress.to_store(), [(at(0).partition, 9)]);
        progress.skip_to(at(3));
        progress.release(at(9));
        assert_eq!(progress.to_store(), [(at(0).partition, 10)]);
    }

    #[test]
    fn a_stored_position_is_not_stored_again() {
        let mut progress = Progress::default();
        progress.hold(at(4));
        progress.release(at(4));
        let positions = progress.to_store();
        progress.stored(&positions);
        assert!(progress.to_store().is_empty());
    }
}
