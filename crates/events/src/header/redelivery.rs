use super::{Source, header_name as h, owned, value};
use std::fmt;
use std::str::FromStr;

/// Who delivered a record again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedeliveredBy {
    /// The command `replay`.
    Replay,
    /// The command `dead-letters redrive`.
    Redrive,
    /// The janitor.
    Janitor,
}

impl RedeliveredBy {
    const ALL: [Self; 3] = [Self::Replay, Self::Redrive, Self::Janitor];

    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Replay => "replay",
            Self::Redrive => "redrive",
            Self::Janitor => "janitor",
        }
    }
}

impl fmt::Display for RedeliveredBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for RedeliveredBy {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|by| by.as_str() == text).ok_or(())
    }
}

/// What is known of a record that was a dead letter when it was delivered again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastFailure {
    /// How often it was tried before.
    pub attempts: u32,
    /// When it failed first, in milliseconds since 1970.
    pub first_failed_at_ms: u64,
    /// The only role that still has to handle it: the others have done so, or have a letter of their own. `None`
    /// when it is for all.
    pub role: Option<String>,
}

/// What a record that is delivered again says about that, in its headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedeliveryHeaders {
    /// Who did it.
    pub origin: RedeliveredBy,
    /// Where the record lay first.
    pub source: Source,
    /// Of a dead letter.
    pub failure: Option<PastFailure>,
}

impl RedeliveryHeaders {
    /// As headers.
    #[must_use]
    pub fn to_headers(&self) -> Vec<(String, String)> {
        let mut headers = vec![(h::ORIGIN, self.origin.to_string())];
        headers.extend(self.source.to_headers());
        if let Some(failure) = &self.failure {
            headers.push((h::ATTEMPTS, failure.attempts.to_string()));
            headers.push((h::FIRST_FAILED_AT_MS, failure.first_failed_at_ms.to_string()));
            headers.extend(failure.role.clone().map(|role| (h::ROLE, role)));
        }
        owned(headers)
    }

    /// From headers; `None` where they do not say it.
    #[must_use]
    pub fn from_headers(headers: &[(String, String)]) -> Option<Self> {
        let failure = || {
            Some(PastFailure {
                attempts: value(headers, h::ATTEMPTS)?.parse().ok()?,
                first_failed_at_ms: value(headers, h::FIRST_FAILED_AT_MS)?.parse().ok()?,
                role: value(headers, h::ROLE).map(str::to_owned),
            })
        };
        Some(Self {
            origin: value(headers, h::ORIGIN)?.parse().ok()?,
            source: Source::from_headers(headers)?,
            failure: failure(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DeadLetterHeaders, Topic, original_headers};

    const SOURCE: Source = Source { topic: Topic::Acks, partition: 3, offset: 41 };

    fn failure(role: Option<&str>) -> Option<PastFailure> {
        Some(PastFailure { attempts: 4, first_failed_at_ms: 9, role: role.map(str::to_owned) })
    }

    #[test]
    fn what_is_written_is_read_back() {
        for origin in RedeliveredBy::ALL {
            for failure in [None, failure(None), failure(Some("watermark"))] {
                let redelivery = RedeliveryHeaders { origin, source: SOURCE, failure };
                assert_eq!(RedeliveryHeaders::from_headers(&redelivery.to_headers()), Some(redelivery));
            }
        }
    }

    #[test]
    fn what_somebody_else_wrote_says_nothing() {
        let redelivery = RedeliveryHeaders { origin: RedeliveredBy::Janitor, source: SOURCE, failure: None };
        for (name, text) in [("origin", "import"), ("source-topic", "ack"), ("source-offset", "-1")] {
            let mut headers = redelivery.to_headers();
            headers.iter_mut().filter(|(n, _)| n == name).for_each(|(_, value)| text.clone_into(value));
            assert_eq!(RedeliveryHeaders::from_headers(&headers), None, "{name}");
        }
        let letter = DeadLetterHeaders {
            reason: "malformed".to_owned(),
            detail: String::new(),
            role: "aggregator".to_owned(),
            source: SOURCE,
            attempts: 1,
            first_failed_at_ms: 9,
        };
        assert_eq!(RedeliveryHeaders::from_headers(&letter.to_headers()), None, "a letter is no redelivery");
    }

    #[test]
    fn the_original_headers_are_what_nobody_added() {
        let own = vec![("accepted-at-ms".to_owned(), "5".to_owned()), ("trace".to_owned(), "x".to_owned())];
        let mut headers = own.clone();
        headers.extend(
            RedeliveryHeaders { origin: RedeliveredBy::Redrive, source: SOURCE, failure: failure(Some("a")) }
                .to_headers(),
        );
        assert_eq!(original_headers(&headers), own);
    }
}
