//! Going through the dead letters, a page at a time.

use super::selection::Selection;
use crate::error::RepairError;
use crate::letter::Letter;
use crate::source::Source;
use readmark_domain::dead_letter::{LetterId, LetterState, Resolution};
use readmark_events::Topic;
use readmark_log::{Offset, TopicPartition};
use std::collections::{BTreeMap, VecDeque};

/// A dead letter and what was done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The letter.
    pub letter: Letter,
    /// What was done about it last.
    pub resolution: Option<Resolution>,
}

impl Seen {
    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> LetterState {
        LetterState::of(self.resolution, self.letter.failed_at())
    }
}

/// What is left of a partition.
struct Left {
    at: TopicPartition,
    next: Offset,
    end: Offset,
}

/// A walk through what a selection may match, partition by partition, up to where they ended at its beginning.
pub(super) struct Scan<'a> {
    source: &'a Source,
    selection: &'a Selection,
    left: VecDeque<Left>,
}

impl<'a> Scan<'a> {
    pub async fn begin(source: &'a Source, selection: &'a Selection) -> Result<Self, RepairError> {
        let mut left = VecDeque::new();
        for (partition, at) in source.partitions(Topic::DeadLetters) {
            let (start, end) = source.bounds(at).await?;
            if selection.ids.is_empty() {
                let next = match selection.since {
                    Some(since) => source.retrier.run(|| source.ports.log.offset_for_time(at, since)).await?,
                    None => start,
                };
                left.push_back(Left { at, next: next.max(start), end });
                continue;
            }
            let named = selection.ids.iter().filter(|id| id.partition == partition);
            for LetterId { offset, .. } in named.filter(|id| (start..end).contains(&id.offset)) {
                match left.back_mut() {
                    Some(Left { at: known, end, .. }) if *known == at && *end == *offset => *end += 1,
                    _ => left.push_back(Left { at, next: *offset, end: *offset + 1 }),
                }
            }
        }
        Ok(Self { source, selection, left })
    }

    /// What of the next page matches, in any state; `None` at the end.
    pub async fn next_page(&mut self) -> Result<Option<Vec<Seen>>, RepairError> {
        let Some(left) = self.left.front_mut() else { return Ok(None) };
        let page = self.source.page(left.at, left.next, left.end).await?;
        let (Some(first), Some(last)) = (page.first(), page.last()) else {
            self.left.pop_front();
            return Ok(Some(Vec::new()));
        };
        let (first, last) = (first.position.offset, last.position.offset);
        left.next = last + 1;
        let (store, partition) = (&self.source.ports.store, left.at.partition);
        let known = self.source.retrier.run(|| store.resolutions(partition, first, last, page.len())).await?;
        let known: BTreeMap<LetterId, Resolution> = known.into_iter().collect();
        let seen = page.into_iter().map(|record| {
            let letter = Letter::read(record);
            let resolution = known.get(&letter.id()).copied();
            let resolution = resolution.filter(|known| known.is_of(letter.failed_at()));
            Seen { letter, resolution }
        });
        Ok(Some(seen.filter(|seen| self.selection.matches(seen)).collect()))
    }
}
