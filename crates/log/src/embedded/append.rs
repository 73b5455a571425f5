use super::codec::{self, PARTITIONS, PartitionRow, RECORDS};
use super::{Inner, KEY_BYTES_MAX, RECORD_BYTES_MAX, WRITE_BYTES_MAX, WRITE_RECORDS_MAX, log_error};
use crate::error::{LogError, LogErrorKind};
use crate::partitioner::partition_of;
use crate::record::{NewRecord, Position, TopicPartition};
use readmark_domain::time::TimeMs;
use readmark_embedded::{JobError, redb};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A record that only lacks its offset and time.
struct Encoded {
    partition: TopicPartition,
    bytes: Vec<u8>,
}

/// What goes into one transaction.
#[derive(Default)]
struct Write {
    records: Vec<Encoded>,
    bytes: usize,
}

pub async fn append(inner: &Arc<Inner>, records: Vec<NewRecord>) -> Result<Vec<Position>, LogError> {
    for record in &records {
        check(record)?;
    }
    let inner = Arc::clone(inner);
    // A task of its own: an append whose caller goes away lands all the same, and readers must hear of it.
    let task = tokio::spawn(async move {
        let mut positions = Vec::with_capacity(records.len());
        for write in split(&inner, &records) {
            positions.extend(commit(&inner, write).await?);
        }
        Ok(positions)
    });
    task.await.unwrap_or_else(|join| {
        Err(LogError::new("append", LogErrorKind::Unavailable, format!("the task ended: {join}")))
    })
}

fn check(record: &NewRecord) -> Result<(), LogError> {
    let refuse = |detail| Err(LogError::new("append", LogErrorKind::Refused, detail).at_topic(record.topic));
    let size_bytes = codec::size_bytes(record);
    if size_bytes > RECORD_BYTES_MAX {
        return refuse(format!("a record of {size_bytes} bytes, more than {RECORD_BYTES_MAX}"));
    }
    if record.key.len() > KEY_BYTES_MAX {
        return refuse(format!("a key of {} bytes, more than {KEY_BYTES_MAX}", record.key.len()));
    }
    Ok(())
}

fn split(inner: &Inner, records: &[NewRecord]) -> Vec<Write> {
    let mut writes: Vec<Write> = Vec::new();
    for record in records {
        let partition =
            TopicPartition { topic: record.topic, partition: partition_of(&record.key, inner.partitions) };
        let bytes = codec::encode(record);
        let fits = writes.last().is_some_and(|write| {
            write.records.len() < WRITE_RECORDS_MAX && write.bytes + bytes.len() <= WRITE_BYTES_MAX
        });
        if !fits {
            writes.push(Write::default());
        }
        if let Some(write) = writes.last_mut() {
            write.bytes += bytes.len();
            write.records.push(Encoded { partition, bytes });
        }
    }
    writes
}

async fn commit(inner: &Inner, mut write: Write) -> Result<Vec<Position>, LogError> {
    let permits = u32::try_from(write.bytes).unwrap_or(u32::MAX);
    let _place = Arc::clone(&inner.appending_bytes)
        .acquire_many_owned(permits)
        .await
        .map_err(|error| LogError::new("append", LogErrorKind::Unavailable, error))?;
    let now = Arc::clone(&inner.now);
    let outcome = inner.engine.write("append", move |txn| put(txn, &mut write.records, now())).await;
    match outcome {
        Ok(positions) => {
            inner.tails.raise(&positions);
            Ok(positions)
        }
        Err(error) => {
            inner.tails.doubt();
            Err(log_error("append", &error))
        }
    }
}

fn put(
    txn: &redb::WriteTransaction,
    records: &mut [Encoded],
    now: TimeMs,
) -> Result<Vec<Position>, JobError> {
    let mut partitions = PARTITIONS.write(txn)?;
    let mut table = RECORDS.write(txn)?;
    let mut rows: BTreeMap<TopicPartition, PartitionRow> = BTreeMap::new();
    let mut positions = Vec::with_capacity(records.len());
    for record in records {
        let row = match rows.entry(record.partition) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => {
                let key = codec::partition_key(record.partition);
                let stored = partitions.get_with(&key, |bytes| PartitionRow::decode(&key, bytes))?;
                place.insert(stored.transpose()?.unwrap_or_default())
            }
        };
        // Time look-up needs times that do not fall, also when the clock was set back.
        row.newest_at_ms = row.newest_at_ms.max(now.get());
        codec::stamp(&mut record.bytes, row.newest_at_ms);
        table.put(&codec::record_key(record.partition, row.end), &record.bytes)?;
        positions.push(Position { partition: record.partition, offset: row.end });
        row.end += 1;
    }
    for (partition, row) in rows {
        partitions.put(&codec::partition_key(partition), &row.encode())?;
    }
    Ok(positions)
}
