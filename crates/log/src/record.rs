use bytes::Bytes;
use readmark_domain::time::TimeMs;
use readmark_events::{DecodeError, Fact, Source, Topic, encode, header_name};
use std::fmt;

/// Number of a partition.
pub type Partition = u32;
/// Place of a record in its partition.
pub type Offset = u64;

/// One partition of one topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The topic.
    pub topic: Topic,
    /// The partition.
    pub partition: Partition,
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.topic, self.partition)
    }
}

/// Where a record lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Its partition.
    pub partition: TopicPartition,
    /// Its offset there.
    pub offset: Offset,
}

impl From<Position> for Source {
    fn from(position: Position) -> Self {
        let TopicPartition { topic, partition } = position.partition;
        Self { topic, partition, offset: position.offset }
    }
}

/// A record to be appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRecord {
    /// The topic.
    pub topic: Topic,
    /// The key, as text; decides the partition.
    pub key: Bytes,
    /// The payload.
    pub payload: Bytes,
    /// The headers.
    pub headers: Vec<(String, String)>,
}

impl NewRecord {
    /// The record of a fact, without headers.
    ///
    /// # Errors
    /// [`DecodeError::TooLarge`] when it exceeds the limit of a record.
    pub fn of<F: Fact>(fact: &F) -> Result<Self, DecodeError> {
        Ok(Self {
            topic: F::TOPIC,
            key: Bytes::from(fact.key()),
            payload: Bytes::from(encode(fact)?),
            headers: Vec::new(),
        })
    }

    /// With one more header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.headers.push((name.to_owned(), value.to_string()));
        self
    }
}

/// A record as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Where it lies.
    pub position: Position,
    /// When the log took it.
    pub appended_at: TimeMs,
    /// The key, if it has one.
    pub key: Option<Bytes>,
    /// The payload, as it came.
    pub payload: Bytes,
    /// The headers that are text.
    pub headers: Vec<(String, String)>,
}

impl Record {
    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// When the gateway accepted what led to this record, for latencies: `None` on one that is delivered again, whose
    /// time says nothing of how fast readmark is.
    #[must_use]
    pub fn accepted_at(&self) -> Option<TimeMs> {
        match self.header(header_name::ORIGIN) {
            None => self.header(header_name::ACCEPTED_AT_MS)?.parse().ok(),
            Some(_) => None,
        }
    }
}
