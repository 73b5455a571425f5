//! What the topics of an installation are to be like.

use crate::retention::default_retention;
use readmark_events::Topic;
use std::collections::BTreeMap;

/// Setting: what happens to old records.
pub(super) const CLEANUP_POLICY: &str = "cleanup.policy";
/// The only policy that keeps every fact until its time is over.
pub(super) const DELETE: &str = "delete";
/// Setting: how long records are kept, in milliseconds.
pub(super) const RETENTION_MS: &str = "retention.ms";
/// Setting: how many bytes of a partition are kept.
pub(super) const RETENTION_BYTES: &str = "retention.bytes";
/// What the two settings above say for *without end*.
pub(super) const WITHOUT_END: &str = "-1";
/// Setting: how many replicas must have a record before it is acknowledged.
pub(super) const MIN_INSYNC: &str = "min.insync.replicas";
/// Setting: whose time stamps records bear.
pub(super) const TIMESTAMP_TYPE: &str = "message.timestamp.type";
/// Setting: the largest batch of records.
pub(super) const MESSAGE_BYTES: &str = "max.message.bytes";
/// Setting: may a replica that has not kept up become the leader, and what the others have be thrown away?
pub(super) const UNCLEAN_ELECTION: &str = "unclean.leader.election.enable";

/// Kafka's own default, and enough for the largest record ([`super::super::RECORD_BYTES_MAX`]) and the client's largest
/// batch (1,000,000 bytes) with their frames.
const MESSAGE_BYTES_MIN: u32 = 1_048_588;

/// From this replication on a broker may be away without stopping writers.
const REPLICATION_TO_LOSE_ONE: u32 = 3;

/// A topic as it is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicPlan {
    /// Which.
    pub topic: Topic,
    /// Its partitions, at least 1. They decide where every key lies.
    pub partitions: u32,
    /// On how many brokers each record lies.
    pub replication: u32,
    /// Its settings, such as `retention.ms`. The time stamps are always those of the log, since a look-up by time
    /// relies on times that do not fall.
    pub settings: BTreeMap<String, String>,
}

/// What is chosen for all topics of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopicSizing {
    /// Partitions of each topic, at least 1.
    pub partitions: u32,
    /// On how many brokers each record lies, at least 1.
    pub replication: u32,
    /// How long acks are kept, in milliseconds: as long as receipts.
    pub keep_acks_ms: u64,
}

impl TopicSizing {
    /// The plan of every topic.
    #[must_use]
    pub fn plans(&self) -> Vec<TopicPlan> {
        Topic::ALL.into_iter().map(|topic| self.plan(topic)).collect()
    }

    fn plan(&self, topic: Topic) -> TopicPlan {
        let rules = default_retention(self.keep_acks_ms);
        let keep = rules.iter().find(|rule| rule.topic == topic);
        let retention = keep.map_or_else(|| WITHOUT_END.to_owned(), |rule| rule.keep_ms.to_string());
        let settings = [
            (CLEANUP_POLICY, DELETE.to_owned()),
            (RETENTION_MS, retention),
            (RETENTION_BYTES, WITHOUT_END.to_owned()),
            (MIN_INSYNC, min_insync(self.replication).to_string()),
            (TIMESTAMP_TYPE, super::TIMESTAMPS.1.to_owned()),
            (MESSAGE_BYTES, MESSAGE_BYTES_MIN.to_string()),
            (UNCLEAN_ELECTION, "false".to_owned()),
        ];
        TopicPlan {
            topic,
            partitions: self.partitions,
            replication: self.replication,
            settings: settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }
}

/// With three copies two must have a record: then one may be lost without losing it, and one may be away without
/// stopping anybody.
const fn min_insync(replication: u32) -> u32 {
    if replication >= REPLICATION_TO_LOSE_ONE { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_kept_as_long_as_they_are_needed() {
        let sizing = TopicSizing { partitions: 64, replication: 3, keep_acks_ms: 90 * 86_400_000 };
        let plans = sizing.plans();
        assert_eq!(plans.len(), Topic::ALL.len());
        for (topic, retention) in [
            (Topic::ConversationEvents, "-1"),
            (Topic::Acks, "7776000000"),
            (Topic::Marks, "-1"),
            (Topic::ConversationChanged, "604800000"),
            (Topic::ReadChanged, "604800000"),
            (Topic::DeadLetters, "-1"),
        ] {
            let plan = plans.iter().find(|plan| plan.topic == topic).unwrap();
            assert_eq!(plan.settings[RETENTION_MS], retention, "{topic}");
            assert_eq!(plan.settings[CLEANUP_POLICY], "delete", "{topic}");
            assert_eq!(plan.settings[MIN_INSYNC], "2", "{topic}");
        }
        assert_eq!([1, 2, 3, 5].map(min_insync), [1, 1, 2, 2]);
    }
}
