//! Headers of records.

/// Names of headers.
pub mod header_name {
    /// When the gateway accepted what led to this record, in milliseconds since 1970: for latencies.
    pub const ACCEPTED_AT_MS: &str = "accepted-at-ms";
    /// Set on redelivered records (`replay`, `redrive`, `janitor`): latencies ignore them.
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
}

/// What a dead letter says about itself, in its headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetterHeaders {
    /// A word: see `docs/dead-letters.md`.
    pub reason: String,
    /// In words.
    pub detail: String,
    /// Which role could not handle it.
    pub role: String,
    /// Topic it lay on.
    pub source_topic: crate::Topic,
    /// Partition it lay in.
    pub source_partition: u32,
    /// Its offset there.
    pub source_offset: u64,
    /// How often it was tried.
    pub attempts: u32,
    /// When it failed first, in milliseconds since 1970.
    pub first_failed_at_ms: u64,
}

impl DeadLetterHeaders {
    /// As headers.
    #[must_use]
    pub fn to_headers(&self) -> Vec<(String, String)> {
        use header_name as h;
        [
            (h::REASON, self.reason.clone()),
            (h::DETAIL, self.detail.clone()),
            (h::ROLE, self.role.clone()),
            (h::SOURCE_TOPIC, self.source_topic.to_string()),
            (h::SOURCE_PARTITION, self.source_partition.to_string()),
            (h::SOURCE_OFFSET, self.source_offset.to_string()),
            (h::ATTEMPTS, self.attempts.to_string()),
            (h::FIRST_FAILED_AT_MS, self.first_failed_at_ms.to_string()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
    }

    /// From headers; `None` when one is missing or unreadable.
    #[must_use]
    pub fn from_headers(headers: &[(String, String)]) -> Option<Self> {
        use header_name as h;
        let get = |name: &str| headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
        Some(Self {
            reason: get(h::REASON)?.to_owned(),
            detail: get(h::DETAIL).unwrap_or_default().to_owned(),
            role: get(h::ROLE)?.to_owned(),
            source_topic: get(h::SOURCE_TOPIC)?.parse().ok()?,
            source_partition: get(h::SOURCE_PARTITION)?.parse().ok()?,
            source_offset: get(h::SOURCE_OFFSET)?.parse().ok()?,
            attempts: get(h::ATTEMPTS)?.parse().ok()?,
            first_failed_at_ms: get(h::FIRST_FAILED_AT_MS)?.parse().ok()?,
        })
    }
}
