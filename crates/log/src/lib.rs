//! The event log: where every fact goes first.
//!
//! [`EventLog`] is a port, shaped for Kafka: topics with partitions, consumer groups that keep positions,
//! headers, look-up by time. [`partitioner`] says which partition a key belongs to, in every adapter alike.

#[cfg(feature = "conformance")]
pub mod conformance;
pub mod embedded;
mod error;
#[cfg(feature = "kafka")]
pub mod kafka;
pub mod partitioner;
mod port;
mod record;
mod retention;

pub use error::{LogError, LogErrorKind};
pub use port::{Consumer, EventLog, Group, PolledEvent};
pub use record::{NewRecord, Offset, Partition, Position, Record, TopicPartition};
pub use retention::{RetentionRule, default_retention};
