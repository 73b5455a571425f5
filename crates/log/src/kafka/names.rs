use crate::record::{Offset, Position, Record, TopicPartition};
use bytes::Bytes;
use rdkafka::message::{BorrowedMessage, Headers, Message};
use rdkafka::topic_partition_list::TopicPartitionListElem;
use rdkafka::{Offset as KafkaOffset, TopicPartitionList};
use readmark_domain::time::TimeMs;
use readmark_events::Topic;

/// The topics' names at the brokers.
#[derive(Debug, Clone)]
pub(super) struct Names {
    topics: Vec<(Topic, String)>,
}

impl Names {
    pub(super) fn new(prefix: &str) -> Self {
        Self { topics: Topic::ALL.iter().map(|topic| (*topic, topic.full_name(prefix))).collect() }
    }

    pub(super) fn of(&self, topic: Topic) -> &str {
        self.topics.iter().find(|(known, _)| *known == topic).map_or("", |(_, name)| name.as_str())
    }

    fn topic(&self, name: &str) -> Option<Topic> {
        self.topics.iter().find(|(_, known)| known == name).map(|(topic, _)| *topic)
    }

    /// One of our topics' by its name.
    pub(super) fn partition(&self, name: &str, partition: i32) -> Option<TopicPartition> {
        Some(TopicPartition { topic: self.topic(name)?, partition: u32::try_from(partition).ok()? })
    }

    /// The partitions of a list. Only subscribed topics come up in one, so none is left out.
    pub(super) fn partitions(&self, list: &TopicPartitionList) -> Vec<TopicPartition> {
        list.elements().iter().filter_map(|one| self.partition(one.topic(), one.partition())).collect()
    }

    pub(super) fn list(&self, partitions: impl IntoIterator<Item = TopicPartition>) -> TopicPartitionList {
        let mut list = TopicPartitionList::new();
        for partition in partitions {
            list.add_partition(self.of(partition.topic), number(partition.partition));
        }
        list
    }

    /// A list of positions, each the next offset to handle, which is also what Kafka stores.
    pub(super) fn positions(
        &self,
        positions: impl IntoIterator<Item = (TopicPartition, Offset)>,
    ) -> TopicPartitionList {
        let mut list = TopicPartitionList::new();
        for (partition, next) in positions {
            let mut one = list.add_partition(self.of(partition.topic), number(partition.partition));
            // Fails only for offsets beyond what Kafka can count; such a position is not stored.
            if let Err(error) = one.set_offset(KafkaOffset::Offset(raw(next))) {
                tracing::warn!(%partition, next, %error, "no such offset");
            }
        }
        list
    }

    /// The positions of an answer, without those that are none or were not looked up.
    pub(super) fn offsets(&self, list: &TopicPartitionList) -> Vec<(TopicPartition, Offset)> {
        let position = |one: &TopicPartitionListElem<'_>| {
            one.error().ok()?;
            Some((self.partition(one.topic(), one.partition())?, absolute(one.offset())?))
        };
        list.elements().iter().filter_map(position).collect()
    }

    /// A message as a record; `None` when it is of no topic of ours.
    pub(super) fn record(&self, message: &BorrowedMessage<'_>) -> Option<Record> {
        let partition = self.partition(message.topic(), message.partition())?;
        let offset = u64::try_from(message.offset()).ok()?;
        let appended_ms = message.timestamp().to_millis().and_then(|at| u64::try_from(at).ok()).unwrap_or(0);
        let headers = message.headers().map_or_else(Vec::new, |headers| {
            headers
                .iter()
                .filter_map(|header| {
                    let value = std::str::from_utf8(header.value?).ok()?;
                    Some((header.key.to_owned(), value.to_owned()))
                })
                .collect()
        });
        Some(Record {
            position: Position { partition, offset },
            appended_at: TimeMs::saturating(appended_ms),
            key: message.key().map(Bytes::copy_from_slice),
            payload: message.payload().map_or_else(Bytes::new, Bytes::copy_from_slice),
            headers,
        })
    }
}

/// Kafka's number of a partition; there are far fewer than 2^31.
pub(super) fn number(partition: u32) -> i32 {
    i32::try_from(partition).unwrap_or(i32::MAX)
}

pub(super) fn raw(offset: Offset) -> i64 {
    i64::try_from(offset).unwrap_or(i64::MAX)
}

/// An offset of Kafka's that is one, and no word for a place.
pub(super) fn absolute(offset: KafkaOffset) -> Option<Offset> {
    match offset {
        KafkaOffset::Offset(offset) => u64::try_from(offset).ok(),
        KafkaOffset::Beginning
        | KafkaOffset::End
        | KafkaOffset::Stored
        | KafkaOffset::Invalid
        | KafkaOffset::OffsetTail(_) => None,
    }
}

/// Bytes of a record as it is counted against bounds.
pub(super) fn record_bytes(record: &Record) -> usize {
    record.payload.len()
        + record.key.as_ref().map_or(0, Bytes::len)
        + record.headers.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>()
}
