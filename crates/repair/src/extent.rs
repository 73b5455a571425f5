//! Which stretch of a topic is meant. It ends where the topic ended when it was asked, so that what a repair produces
//! itself is never part of it.

use crate::error::RepairError;
use crate::source::Source;
use readmark_domain::time::TimeMs;
use readmark_events::Topic;
use readmark_log::{Offset, Partition, TopicPartition};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A stretch of a topic, up to its end now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stretch {
    /// With the first record appended at that time or later; before the first one appended at `to` or later, if given.
    Time {
        /// The first time that belongs to it.
        from: TimeMs,
        /// The first time that does not.
        to: Option<TimeMs>,
    },
    /// At these offsets; of partitions that are not named, nothing.
    Offsets(BTreeMap<Partition, Offset>),
}

/// A stretch of one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub first: Offset,
    /// The first offset that does not belong to it.
    pub end: Offset,
}

impl Extent {
    pub fn contains(&self, offset: Offset) -> bool {
        (self.first..self.end).contains(&offset)
    }
}

/// The stretch of each partition.
pub(crate) async fn extents(
    source: &Source,
    topic: Topic,
    stretch: &Stretch,
) -> Result<BTreeMap<Partition, Extent>, RepairError> {
    match stretch {
        Stretch::Time { from, to } => {
            if to.is_some_and(|to| to <= *from) {
                return Err(RepairError::usage("the stretch of time ends before it begins"));
            }
            let mut extents = BTreeMap::new();
            for (partition, at) in source.partitions(topic) {
                extents.insert(partition, between(source, at, *from, *to).await?);
            }
            Ok(extents)
        }
        Stretch::Offsets(offsets) => {
            let mut extents = BTreeMap::new();
            for (partition, offset) in offsets {
                let at = TopicPartition { topic, partition: *partition };
                extents.insert(*partition, from_offset(source, at, *offset).await?);
            }
            Ok(extents)
        }
    }
}

async fn between(
    source: &Source,
    at: TopicPartition,
    from: TimeMs,
    to: Option<TimeMs>,
) -> Result<Extent, RepairError> {
    let (log, retrier) = (&source.ports.log, &source.retrier);
    let (start, end) = source.bounds(at).await?;
    let first = retrier.run(|| log.offset_for_time(at, from)).await?.clamp(start, end);
    let end = match to {
        Some(to) => retrier.run(|| log.offset_for_time(at, to)).await?.clamp(first, end),
        None => end,
    };
    Ok(Extent { first, end })
}

async fn from_offset(source: &Source, at: TopicPartition, offset: Offset) -> Result<Extent, RepairError> {
    let partitions = source.ports.log.partitions(at.topic);
    if at.partition >= partitions {
        return Err(RepairError::usage(format_args!(
            "{} has the partitions 0 to {}",
            at.topic,
            partitions - 1
        )));
    }
    let (start, end) = source.bounds(at).await?;
    if offset > end {
        return Err(RepairError::usage(format_args!("{at} ends at the offset {end}")));
    }
    Ok(Extent { first: offset.max(start), end })
}
