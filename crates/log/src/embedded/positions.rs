use super::codec::{self, POSITIONS, RECORDS};
use super::{Inner, log_error, read};
use crate::error::LogError;
use crate::port::Group;
use crate::record::{Offset, TopicPartition};
use readmark_embedded::{JobError, SealedReader};

/// Stored positions, in the order asked.
pub async fn committed(
    inner: &Inner,
    group: &Group,
    partitions: Vec<TopicPartition>,
) -> Result<Vec<Option<Offset>>, LogError> {
    let group = group.0.clone();
    inner
        .engine
        .read("committed", move |txn| {
            let positions = POSITIONS.read(txn)?;
            partitions.iter().map(|partition| stored(&positions, &group, *partition)).collect()
        })
        .await
        .map_err(|error| log_error("committed", &error))
}

/// Where a member begins: at the stored position, else at the earliest record.
pub async fn starts(
    inner: &Inner,
    group: &Group,
    partitions: Vec<TopicPartition>,
) -> Result<Vec<(TopicPartition, Offset)>, LogError> {
    let group = group.0.clone();
    inner
        .engine
        .read("start positions", move |txn| {
            let (positions, records) = (POSITIONS.read(txn)?, RECORDS.read(txn)?);
            let mut starts = Vec::with_capacity(partitions.len());
            for partition in partitions {
                let (start, end) = read::bounds(txn, &records, partition)?;
                let position = stored(&positions, &group, partition)?.unwrap_or(start);
                // Below the start retention has been; above the end the log is an older copy of itself.
                if !(start..=end).contains(&position) {
                    tracing::warn!(%group, %partition, position, start, end, "position outside of the log");
                }
                starts.push((partition, position.clamp(start, end)));
            }
            Ok(starts)
        })
        .await
        .map_err(|error| log_error("start positions", &error))
}

fn stored(
    positions: &SealedReader,
    group: &str,
    partition: TopicPartition,
) -> Result<Option<Offset>, JobError> {
    let key = codec::position_key(group, partition);
    positions
        .get_with(&key, |bytes| bytes.first_chunk::<8>().map(|bytes| Offset::from_be_bytes(*bytes)))?
        .map(|offset| offset.ok_or_else(|| JobError::damaged(positions.name(), &key, "not an offset")))
        .transpose()
}

/// Stores positions. They become durable with the next append, or soon: a position that a crash takes back only
/// has records handled again, which is harmless, and a sync of its own would make every append wait.
pub async fn store(
    inner: &Inner,
    group: &Group,
    positions: Vec<(TopicPartition, Offset)>,
) -> Result<(), LogError> {
    let group = group.0.clone();
    inner
        .engine
        .write_relaxed("commit", move |txn| {
            let mut table = POSITIONS.write(txn)?;
            for (partition, offset) in &positions {
                table.put(&codec::position_key(&group, *partition), &offset.to_be_bytes())?;
            }
            Ok(())
        })
        .await
        .map_err(|error| log_error("commit", &error))
}
