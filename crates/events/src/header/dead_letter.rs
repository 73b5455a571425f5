use super::{Source, header_name as h, owned, value};

/// What a dead letter says about itself, in its headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetterHeaders {
    /// A word: see `docs/dead-letters.md`.
    pub reason: String,
    /// In words.
    pub detail: String,
    /// Which role could not handle it.
    pub role: String,
    /// Where the record lay first.
    pub source: Source,
    /// How often it was tried.
    pub attempts: u32,
    /// When it failed first, in milliseconds since 1970.
    pub first_failed_at_ms: u64,
}

impl DeadLetterHeaders {
    /// As headers.
    #[must_use]
    pub fn to_headers(&self) -> Vec<(String, String)> {
        let [topic, partition, offset] = self.source.to_headers();
        owned([
            (h::REASON, self.reason.clone()),
            (h::DETAIL, self.detail.clone()),
            (h::ROLE, self.role.clone()),
            topic,
            partition,
            offset,
            (h::ATTEMPTS, self.attempts.to_string()),
            (h::FIRST_FAILED_AT_MS, self.first_failed_at_ms.to_string()),
        ])
    }

    /// From headers; `None` when one is missing or unreadable.
    #[must_use]
    pub fn from_headers(headers: &[(String, String)]) -> Option<Self> {
        Some(Self {
            reason: value(headers, h::REASON)?.to_owned(),
            detail: value(headers, h::DETAIL).unwrap_or_default().to_owned(),
            role: value(headers, h::ROLE)?.to_owned(),
            source: Source::from_headers(headers)?,
            attempts: value(headers, h::ATTEMPTS)?.parse().ok()?,
            first_failed_at_ms: value(headers, h::FIRST_FAILED_AT_MS)?.parse().ok()?,
        })
    }
}
