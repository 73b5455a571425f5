//! Letters that wait, by when they are due. Only what is needed to find them again: the letters stay in the log.

use readmark_domain::time::TimeMs;
use readmark_events::Source;
use readmark_log::{Partition, Position, TopicPartition};
use std::collections::{BTreeMap, BTreeSet};

/// Letters remembered before partitions pause: some ten megabytes. What lies behind waits longer.
pub(crate) const FULL_AT_LETTERS: usize = 100_000;

/// What a letter is about: a record that one role could not handle.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Matter {
    pub source: Source,
    pub role: String,
}

/// A letter that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub position: Position,
    /// What it is about; `None` when it does not say.
    pub matter: Option<Matter>,
    pub attempts: u32,
    pub failed_at: TimeMs,
    pub due_at: TimeMs,
}

/// The letters that wait.
#[derive(Debug, Default)]
pub(crate) struct OpenLetters {
    letters: BTreeMap<Position, Waiting>,
    by_due: BTreeSet<(TimeMs, Position)>,
    by_matter: BTreeMap<Matter, BTreeSet<Position>>,
}

impl OpenLetters {
    pub fn add(&mut self, waiting: Waiting) {
        self.by_due.insert((waiting.due_at, waiting.position));
        if let Some(matter) = &waiting.matter {
            self.by_matter.entry(matter.clone()).or_default().insert(waiting.position);
        }
        self.letters.insert(waiting.position, waiting);
    }

    /// The letters that are due, at most `limit` matters, each with all of its letters; they wait no more.
    pub fn take_due(&mut self, now: TimeMs, limit: usize) -> Vec<Vec<Waiting>> {
        let mut due = Vec::new();
        while due.len() < limit {
            let Some((_, position)) = self.by_due.first().copied().filter(|(at, _)| *at <= now) else {
                break;
            };
            let matter = self.letters.get(&position).and_then(|waiting| waiting.matter.clone());
            let siblings = matter.and_then(|matter| self.by_matter.get(&matter)).cloned();
            let positions = siblings.unwrap_or_else(|| BTreeSet::from([position]));
            due.push(positions.into_iter().filter_map(|position| self.remove(position)).collect());
        }
        due
    }

    fn remove(&mut self, position: Position) -> Option<Waiting> {
        let waiting = self.letters.remove(&position)?;
        self.by_due.remove(&(waiting.due_at, position));
        if let Some(matter) = &waiting.matter
            && let Some(positions) = self.by_matter.get_mut(matter)
        {
            positions.remove(&position);
            if positions.is_empty() {
                self.by_matter.remove(matter);
            }
        }
        Some(waiting)
    }

    /// Drops what waits in these partitions.
    pub fn forget(&mut self, partitions: &[TopicPartition]) {
        let gone: Vec<Position> = self
            .letters
            .keys()
            .filter(|position| partitions.contains(&position.partition))
            .copied()
            .collect();
        for position in gone {
            self.remove(position);
        }
    }

    /// Partitions that must pause.
    pub fn full(&self) -> BTreeSet<TopicPartition> {
        if self.letters.len() < FULL_AT_LETTERS {
            return BTreeSet::new();
        }
        self.letters.keys().map(|position| position.partition).collect()
    }

    pub fn len(&self) -> usize {
        self.letters.len()
    }
}

/// Offsets of one partition that are close to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub partition: Partition,
    pub first: u64,
    pub last: u64,
}

/// Cuts positions into as few spans as there can be, none wider than `width` offsets.
pub(crate) fn spans(positions: impl IntoIterator<Item = Position>, width: u64) -> Vec<Span> {
    let sorted: BTreeSet<(Partition, u64)> =
        positions.into_iter().map(|position| (position.partition.partition, position.offset)).collect();
    let mut spans: Vec<Span> = Vec::new();
    for (partition, offset) in sorted {
        match spans.last_mut() {
            Some(span) if span.partition == partition && offset - span.first < width => span.last = offset,
            _ => spans.push(Span { partition, first: offset, last: offset }),
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmark_events::Topic;

    fn at(partition: u32, offset: u64) -> Position {
        Position { partition: TopicPartition { topic: Topic::DeadLetters, partition }, offset }
    }

    fn matter(offset: u64) -> Option<Matter> {
        let source = Source { topic: Topic::Acks, partition: 0, offset };
        Some(Matter { source, role: "aggregator".to_owned() })
    }

    fn waiting(offset: u64, due_ms: u64, matter: Option<Matter>) -> Waiting {
        let due_at = TimeMs::saturating(due_ms);
        Waiting { position: at(0, offset), matter, attempts: 1, failed_at: TimeMs::ZERO, due_at }
    }

    fn offsets(due: &[Vec<Waiting>]) -> Vec<Vec<u64>> {
        due.iter().map(|letters| letters.iter().map(|letter| letter.position.offset).collect()).collect()
    }

    #[test]
    fn letters_come_when_they_are_due_and_their_siblings_with_them() {
        let mut open = OpenLetters::default();
        for letter in [
            waiting(1, 50, matter(7)),
            waiting(2, 40, matter(8)),
            waiting(3, 90, matter(7)),
            waiting(4, 45, None),
            waiting(5, 45, None),
            waiting(6, 99, matter(9)),
        ] {
            open.add(letter);
        }
        assert!(open.take_due(TimeMs::saturating(39), 9).is_empty());
        assert_eq!(offsets(&open.take_due(TimeMs::saturating(60), 3)), [vec![2], vec![4], vec![5]]);
        assert_eq!(offsets(&open.take_due(TimeMs::saturating(60), 3)), [vec![1, 3]]);
        assert_eq!(open.len(), 1);
        assert!(open.take_due(TimeMs::saturating(98), 9).is_empty());
        assert_eq!(offsets(&open.take_due(TimeMs::saturating(99), 9)), [vec![6]]);
        assert_eq!(open.len(), 0);
        assert!(open.by_due.is_empty() && open.by_matter.is_empty());
    }

    #[test]
    fn a_partition_that_is_gone_is_forgotten() {
        let mut open = OpenLetters::default();
        open.add(waiting(1, 5, matter(7)));
        open.add(Waiting { position: at(1, 1), ..waiting(1, 5, matter(7)) });
        open.forget(&[at(0, 0).partition]);
        let due = open.take_due(TimeMs::saturating(5), 9);
        assert_eq!(due.len(), 1);
        assert_eq!(due[0].iter().map(|letter| letter.position).collect::<Vec<_>>(), [at(1, 1)]);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut open = OpenLetters::default();
        for offset in 0..FULL_AT_LETTERS as u64 {
            assert!(open.full().is_empty());
            open.add(waiting(offset, offset, None));
        }
        assert_eq!(open.full(), BTreeSet::from([at(0, 0).partition]));
        open.take_due(TimeMs::ZERO, 1);
        assert!(open.full().is_empty());
    }

    #[test]
    fn spans_are_few_and_narrow() {
        let span = |partition, first, last| Span { partition, first, last };
        let positions = [at(1, 5), at(0, 9), at(0, 0), at(0, 99), at(0, 100), at(1, 500), at(0, 9)];
        assert_eq!(
            spans(positions, 100),
            [span(0, 0, 99), span(0, 100, 100), span(1, 5, 5), span(1, 500, 500)]
        );
        assert!(spans([], 100).is_empty());
    }
}
