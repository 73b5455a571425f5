//! How records, positions and partitions are written. Keys are big-endian, so that a partition's records lie
//! side by side in order.

use crate::record::{NewRecord, Offset, Position, Record, TopicPartition};
use bytes::{Buf, BufMut, Bytes};
use readmark_domain::time::TimeMs;
use readmark_embedded::{JobError, SealedTable};
use readmark_events::Topic;

/// (topic, partition, offset) → record.
pub const RECORDS: SealedTable = SealedTable::new("log_records");
/// (topic, partition) → [`PartitionRow`].
pub const PARTITIONS: SealedTable = SealedTable::new("log_partitions");
/// (group, topic, partition) → next offset.
pub const POSITIONS: SealedTable = SealedTable::new("log_positions");
/// What was decided when the log was created.
pub const SETTINGS: SealedTable = SealedTable::new("log_settings");
/// Setting: partitions of every topic.
pub const PARTITIONS_PER_TOPIC: &[u8] = b"partitions_per_topic";

/// Layout of a record, its first byte.
const RECORD_LAYOUT: u8 = 1;
/// Place of `appended_at` in a record: behind the layout.
const APPENDED_AT: usize = 1;

/// A number for a topic in keys; never given to another one.
const fn topic_code(topic: Topic) -> u8 {
    match topic {
        Topic::ConversationEvents => 1,
        Topic::Acks => 2,
        Topic::Marks => 3,
        Topic::ConversationChanged => 4,
        Topic::ReadChanged => 5,
        Topic::DeadLetters => 6,
    }
}

/// The key of a partition.
pub fn partition_key(partition: TopicPartition) -> Vec<u8> {
    let mut key = Vec::with_capacity(13);
    key.put_u8(topic_code(partition.topic));
    key.put_u32(partition.partition);
    key
}

/// The key of a record.
pub fn record_key(partition: TopicPartition, offset: Offset) -> Vec<u8> {
    let mut key = partition_key(partition);
    key.put_u64(offset);
    key
}

/// The offset in a record's key.
pub fn offset_of(key: &[u8]) -> Result<Offset, JobError> {
    key.last_chunk::<8>()
        .map(|bytes| Offset::from_be_bytes(*bytes))
        .ok_or_else(|| JobError::damaged("log_records", key, "the key is too short"))
}

/// The key of a group's position.
pub fn position_key(group: &str, partition: TopicPartition) -> Vec<u8> {
    let mut key = Vec::with_capacity(group.len() + 9);
    key.put_u32(u32::try_from(group.len()).unwrap_or(u32::MAX));
    key.put_slice(group.as_bytes());
    key.put_slice(&partition_key(partition));
    key
}

/// What is known of a partition beside its records, which retention may have taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartitionRow {
    /// Offset of the next record.
    pub end: Offset,
    /// When the newest record was appended, in milliseconds since 1970.
    pub newest_at_ms: u64,
}

impl PartitionRow {
    pub fn encode(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let mut at = bytes.as_mut_slice();
        at.put_u64(self.end);
        at.put_u64(self.newest_at_ms);
        bytes
    }

    pub fn decode(key: &[u8], mut bytes: &[u8]) -> Result<Self, JobError> {
        let damaged = |_| JobError::damaged("log_partitions", key, "the row is too short");
        Ok(Self {
            end: bytes.try_get_u64().map_err(damaged)?,
            newest_at_ms: bytes.try_get_u64().map_err(damaged)?,
        })
    }
}

/// A record in its written form, but for the time, which is known only when it is written.
pub fn encode(record: &NewRecord) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_bytes(record) + 32);
    bytes.put_u8(RECORD_LAYOUT);
    bytes.put_u64(0);
    put_bytes(&mut bytes, &record.key);
    bytes.put_u32(u32::try_from(record.headers.len()).unwrap_or(u32::MAX));
    for (name, value) in &record.headers {
        put_bytes(&mut bytes, name.as_bytes());
        put_bytes(&mut bytes, value.as_bytes());
    }
    bytes.put_slice(&record.payload);
    bytes
}

/// Puts the time into a record's written form.
pub fn stamp(record: &mut [u8], appended_at_ms: u64) {
    if let Some(place) = record.get_mut(APPENDED_AT..APPENDED_AT + 8) {
        place.copy_from_slice(&appended_at_ms.to_be_bytes());
    }
}

/// When a written record was appended.
pub fn appended_at(key: &[u8], record: &[u8]) -> Result<TimeMs, JobError> {
    record
        .get(APPENDED_AT..APPENDED_AT + 8)
        .and_then(|bytes| bytes.first_chunk::<8>())
        .map(|bytes| TimeMs::saturating(u64::from_be_bytes(*bytes)))
        .ok_or_else(|| JobError::damaged("log_records", key, "the record is too short"))
}

/// A record from its written form.
pub fn decode(partition: TopicPartition, key: &[u8], bytes: Vec<u8>) -> Result<Record, JobError> {
    let position = Position { partition, offset: offset_of(key)? };
    read(position, Bytes::from(bytes)).ok_or_else(|| JobError::damaged("log_records", key, "not a record"))
}

fn read(position: Position, mut bytes: Bytes) -> Option<Record> {
    if bytes.try_get_u8().ok()? != RECORD_LAYOUT {
        return None;
    }
    let appended_at = TimeMs::saturating(bytes.try_get_u64().ok()?);
    let key = get_bytes(&mut bytes)?;
    let count = bytes.try_get_u32().ok()?;
    let mut headers = Vec::new();
    for _ in 0..count {
        headers.push((get_text(&mut bytes)?, get_text(&mut bytes)?));
    }
    Some(Record { position, appended_at, key: Some(key), payload: bytes, headers })
}

/// Bytes that count against the limit of a record.
pub fn size_bytes(record: &NewRecord) -> usize {
    let headers: usize = record.headers.iter().map(|(name, value)| name.len() + value.len() + 8).sum();
    record.key.len() + record.payload.len() + headers
}

fn put_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    to.put_u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    to.put_slice(bytes);
}

fn get_bytes(from: &mut Bytes) -> Option<Bytes> {
    let len = usize::try_from(from.try_get_u32().ok()?).ok()?;
    (from.len() >= len).then(|| from.split_to(len))
}

fn get_text(from: &mut Bytes) -> Option<String> {
    String::from_utf8(get_bytes(from)?.to_vec()).ok()
}
