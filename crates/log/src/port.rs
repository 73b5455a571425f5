//! The port.

use crate::error::LogError;
use crate::record::{NewRecord, Offset, Partition, Position, Record, TopicPartition};
use async_trait::async_trait;
use readmark_domain::time::TimeMs;
use readmark_events::Topic;

/// A consumer group: its members share the partitions and one position each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group(pub String);

impl std::fmt::Display for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A log of records in topics and partitions.
#[async_trait]
pub trait EventLog: Send + Sync + 'static {
    /// How many partitions a topic has. Fixed while the program runs.
    fn partitions(&self, topic: Topic) -> u32;

    /// Appends records; resolves when all are durable. Records of one partition keep their order. After an
    /// error some may be there; appending them again is harmless to every consumer.
    async fn append(&self, records: Vec<NewRecord>) -> Result<Vec<Position>, LogError>;

    /// Joins a group; starts at the positions it has stored, else at the earliest records.
    async fn join(&self, group: &Group, topics: &[Topic]) -> Result<Box<dyn Consumer>, LogError>;

    /// Offset of the oldest record still there (equal to the end when there is none).
    async fn start_offset(&self, partition: TopicPartition) -> Result<Offset, LogError>;

    /// Offset that the next record will get.
    async fn end_offset(&self, partition: TopicPartition) -> Result<Offset, LogError>;

    /// The position a group has stored: the next offset it will handle. `None` before the first.
    async fn committed(&self, group: &Group, partition: TopicPartition) -> Result<Option<Offset>, LogError>;

    /// [`Self::start_offset`] and [`Self::end_offset`] of several partitions, in the order asked; adapters ask for all at
    /// once where they can.
    async fn bounds(&self, partitions: &[TopicPartition]) -> Result<Vec<(Offset, Offset)>, LogError> {
        let mut bounds = Vec::with_capacity(partitions.len());
        for partition in partitions {
            bounds.push((self.start_offset(*partition).await?, self.end_offset(*partition).await?));
        }
        Ok(bounds)
    }

    /// [`Self::committed`] of several partitions, in the order asked; adapters ask for all at once where they can.
    async fn committed_all(
        &self,
        group: &Group,
        partitions: &[TopicPartition],
    ) -> Result<Vec<Option<Offset>>, LogError> {
        let mut positions = Vec::with_capacity(partitions.len());
        for partition in partitions {
            positions.push(self.committed(group, *partition).await?);
        }
        Ok(positions)
    }

    /// The first offset whose record was appended at or after `at`; the end when there is none.
    async fn offset_for_time(&self, partition: TopicPartition, at: TimeMs) -> Result<Offset, LogError>;

    /// Reads up to `max_records` from `from` on, outside any group; empty at the end.
    async fn read(
        &self,
        partition: TopicPartition,
        from: Offset,
        max_records: usize,
    ) -> Result<Vec<Record>, LogError>;

    /// Does the log answer? For readiness.
    async fn probe(&self) -> Result<(), LogError>;

    /// The partition of a key, by the one partitioner.
    fn partition_of(&self, topic: Topic, key: &[u8]) -> Partition {
        crate::partitioner::partition_of(key, self.partitions(topic))
    }
}

/// What a consumer hands over.
#[derive(Debug)]
pub enum PolledEvent {
    /// These partitions are now this consumer's, in addition. None at all: its share is empty, since there are more
    /// members than partitions.
    Assigned(Vec<TopicPartition>),
    /// Records, ascending per partition.
    Records(Vec<Record>),
    /// These partitions will go to another member as soon as [`Consumer::release`] is called: flush, commit,
    /// then release. The adapter waits for it, within a deadline.
    Revoked(Vec<TopicPartition>),
    /// These partitions are gone already: drop what is held for them, commit nothing.
    Lost(Vec<TopicPartition>),
    /// Nothing came within the time given.
    Idle,
}

/// A member of a consumer group. Nothing is committed unless told so, not when dropped either.
#[async_trait]
pub trait Consumer: Send {
    /// Waits up to `wait_ms` milliseconds for something to do. Never hands over records of paused partitions.
    async fn next(&mut self, wait_ms: u64) -> Result<PolledEvent, LogError>;

    /// Stores positions: for each partition the next offset to handle. A position never moves backwards
    /// while one member owns the partition. [`EventLog::committed`] may show it a moment later, for adapters may
    /// send several together; what was stored before [`Consumer::release`] or [`Consumer::close`] is kept for sure.
    async fn commit(&mut self, positions: &[(TopicPartition, Offset)]) -> Result<(), LogError>;

    /// Gives back what [`PolledEvent::Revoked`] named.
    async fn release(&mut self, partitions: &[TopicPartition]) -> Result<(), LogError>;

    /// Hands over nothing of these partitions until they are resumed.
    async fn pause(&mut self, partitions: &[TopicPartition]) -> Result<(), LogError>;

    /// Takes back a pause.
    async fn resume(&mut self, partitions: &[TopicPartition]) -> Result<(), LogError>;

    /// Leaves the group.
    async fn close(self: Box<Self>) -> Result<(), LogError>;
}
