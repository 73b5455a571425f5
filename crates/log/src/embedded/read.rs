use super::codec::{self, PARTITIONS, PartitionRow, RECORDS};
use super::{Inner, POLL_BYTES_MAX, log_error};
use crate::error::LogError;
use crate::record::{Offset, Record, TopicPartition};
use readmark_domain::time::TimeMs;
use readmark_embedded::{JobError, SealedReader, redb};

/// Reads on in each of the partitions in turn, until `max_records` or [`POLL_BYTES_MAX`] are reached.
pub async fn read(
    inner: &Inner,
    from: Vec<(TopicPartition, Offset)>,
    max_records: usize,
) -> Result<Vec<Record>, LogError> {
    let only = match from.as_slice() {
        [(partition, _)] => Some(*partition),
        _ => None,
    };
    inner
        .engine
        .read("read", move |txn| {
            let table = RECORDS.read(txn)?;
            let mut records = Vec::new();
            let mut bytes = 0;
            for (partition, offset) in from {
                let (first, last) =
                    (codec::record_key(partition, offset), codec::record_key(partition, Offset::MAX));
                for pair in table.range(first.as_slice()..=last.as_slice())? {
                    if records.len() >= max_records || bytes >= POLL_BYTES_MAX {
                        return Ok(records);
                    }
                    let (key, value) = pair?;
                    bytes += value.len();
                    records.push(codec::decode(partition, &key, value)?);
                }
            }
            Ok(records)
        })
        .await
        .map_err(|error| at(log_error("read", &error), only))
}

pub async fn start_offset(inner: &Inner, partition: TopicPartition) -> Result<Offset, LogError> {
    inner
        .engine
        .read("start offset", move |txn| Ok(bounds(txn, &RECORDS.read(txn)?, partition)?.0))
        .await
        .map_err(|error| log_error("start offset", &error).at_partition(partition))
}

/// Offsets of the oldest record and of the next one.
pub fn bounds(
    txn: &redb::ReadTransaction,
    records: &SealedReader,
    partition: TopicPartition,
) -> Result<(Offset, Offset), JobError> {
    let key = codec::partition_key(partition);
    let row = PARTITIONS.read(txn)?.get_with(&key, |bytes| PartitionRow::decode(&key, bytes))?;
    let end = row.transpose()?.unwrap_or_default().end;
    let (first, last) = (codec::record_key(partition, 0), codec::record_key(partition, Offset::MAX));
    let start = match records.keys(first.as_slice()..=last.as_slice())?.next() {
        Some(key) => codec::offset_of(&key?)?,
        None => end,
    };
    Ok((start, end))
}

pub async fn offset_for_time(
    inner: &Inner,
    partition: TopicPartition,
    at: TimeMs,
) -> Result<Offset, LogError> {
    inner
        .engine
        .read("offset for time", move |txn| {
            let records = RECORDS.read(txn)?;
            let (mut low, mut high) = bounds(txn, &records, partition)?;
            // Offsets are dense and times do not fall.
            while low < high {
                let middle = low + (high - low) / 2;
                let key = codec::record_key(partition, middle);
                let time = records
                    .get_with(&key, |record| codec::appended_at(&key, record))?
                    .ok_or_else(|| JobError::damaged(records.name(), &key, "the record is missing"))??;
                if time < at {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            Ok(low)
        })
        .await
        .map_err(|error| log_error("offset for time", &error).at_partition(partition))
}

fn at(error: LogError, partition: Option<TopicPartition>) -> LogError {
    match partition {
        Some(partition) => error.at_partition(partition),
        None => error,
    }
}
