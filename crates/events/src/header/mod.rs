//! Headers of records.

mod dead_letter;
mod redelivery;

pub use dead_letter::DeadLetterHeaders;
pub use redelivery::{PastFailure, RedeliveredBy, RedeliveryHeaders};

use crate::Topic;

/// Names of headers.
pub mod header_name {
    /// When the gateway accepted what led to this record, in milliseconds since 1970: for latencies.
    pub const ACCEPTED_AT_MS: &str = "accepted-at-ms";
    /// How large the group of a message_read is (`small`, `medium`, `large`): for latencies.
    pub const TIER: &str = "tier";
    /// Set on records that are delivered again (`replay`, `redrive`, `janitor`): latencies ignore them.
    pub const ORIGIN: &str = "origin";
    /// Why a record is a dead letter.
    pub const REASON: &str = "reason";
    /// In words, for people.
    pub const DETAIL: &str = "detail";
    /// Which role could not handle it.
    pub const ROLE: &str = "role";
    /// Where it lay.
    pub const SOURCE_TOPIC: &str = "source-topic";
    /// Where it lay.
    pub const SOURCE_PARTITION: &str = "source-partition";
    /// Where it lay.
    pub const SOURCE_OFFSET: &str = "source-offset";
    /// How often it was tried.
    pub const ATTEMPTS: &str = "attempts";
    /// When it failed first, in milliseconds since 1970.
    pub const FIRST_FAILED_AT_MS: &str = "first-failed-at-ms";
    /// Of a dead letter that holds the beginning of its record only: how large key, payload and headers were.
    pub const CUT_FROM_BYTES: &str = "cut-from-bytes";

    /// Everything above that says something of a failure or a redelivery, and not of the record itself.
    pub(super) const OF_REPAIR: [&str; 9] = [
        ORIGIN,
        REASON,
        DETAIL,
        ROLE,
        SOURCE_TOPIC,
        SOURCE_PARTITION,
        SOURCE_OFFSET,
        ATTEMPTS,
        FIRST_FAILED_AT_MS,
    ];
}

use header_name as h;

/// Where a record lay first, before anything delivered it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    /// Its topic.
    pub topic: Topic,
    /// Its partition.
    pub partition: u32,
    /// Its offset there.
    pub offset: u64,
}

impl Source {
    fn to_headers(self) -> [(&'static str, String); 3] {
        [
            (h::SOURCE_TOPIC, self.topic.to_string()),
            (h::SOURCE_PARTITION, self.partition.to_string()),
            (h::SOURCE_OFFSET, self.offset.to_string()),
        ]
    }

    fn from_headers(headers: &[(String, String)]) -> Option<Self> {
        Some(Self {
            topic: value(headers, h::SOURCE_TOPIC)?.parse().ok()?,
            partition: value(headers, h::SOURCE_PARTITION)?.parse().ok()?,
            offset: value(headers, h::SOURCE_OFFSET)?.parse().ok()?,
        })
    }
}

/// A header's value.
fn value<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
}

fn owned(headers: impl IntoIterator<Item = (&'static str, String)>) -> Vec<(String, String)> {
    headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The headers that the record had when it was written first.
#[must_use]
pub fn original_headers(headers: &[(String, String)]) -> Vec<(String, String)> {
    headers.iter().filter(|(name, _)| !h::OF_REPAIR.contains(&name.as_str())).cloned().collect()
}
