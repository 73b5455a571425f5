//! Records that can't be handled are kept: the original bytes, with the reason in headers.

use crate::metrics::SharedMetrics;
use crate::ports::Ports;
use crate::progress::Progress;
use crate::retry::Retrier;
use bytes::Bytes;
use readmark_events::{
    DeadLetterHeaders, DecodeError, RedeliveryHeaders, Topic, header_name, original_headers,
};
use readmark_log::{LogError, NewRecord, Record};

/// Longest detail kept in a header.
const DETAIL_CHARS: usize = 512;
/// What a letter keeps of a record's payload, key and headers. Others can write larger records than any log surely takes
/// back with the headers of a letter added; nobody reads a fact of more than [`readmark_events::MAX_RECORD_BYTES`], and
/// keys and headers of readmark's own records are a hundredth of this.
const PAYLOAD_BYTES_KEPT: usize = 2 * readmark_events::MAX_RECORD_BYTES;
const KEY_BYTES_KEPT: usize = 4_096;
const HEADER_BYTES_KEPT: usize = 64 * 1024;

/// Every word there is for why a record is a dead letter.
pub const REASONS: [&str; 11] = [
    "too-large",
    "malformed",
    "unknown-kind",
    "unknown-version",
    "wrong-key",
    "bad-fact",
    "sender-mismatch",
    "message-missing",
    "beyond-head",
    "seq-conflict",
    "refused",
];

/// Is this reason found in the record alone, so that its letter stands for every role that reads the topic? The other
/// reasons are those of one role; another one has handled the record, or has a letter of its own.
#[must_use]
pub fn is_of_the_record(word: &str) -> bool {
    matches!(
        word,
        "too-large"
            | "malformed"
            | "unknown-kind"
            | "unknown-version"
            | "wrong-key"
            | "bad-fact"
            | "sender-mismatch"
    )
}

/// May the record succeed when it is delivered again? One whose seq is taken never does, and each attempt would
/// raise the alarm anew.
#[must_use]
pub fn may_heal(word: &str) -> bool {
    word != "seq-conflict"
}

/// Why a record is a dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// A word, a label of `readmark_dead_letters_total`; all are listed in `docs/dead-letters.md`.
    pub word: &'static str,
    /// For people.
    pub detail: String,
}

impl Reason {
    /// A reason.
    pub fn new(word: &'static str, detail: impl std::fmt::Display) -> Self {
        Self { word, detail: detail.to_string() }
    }
}

impl From<DecodeError> for Reason {
    fn from(error: DecodeError) -> Self {
        Self::new(error.reason(), error)
    }
}

/// A record on its way to the dead letters.
#[derive(Debug, Clone)]
pub struct DeadLetter {
    /// The record as it came.
    pub record: Record,
    /// Why.
    pub reason: Reason,
}

/// Appends dead letters for one role.
#[derive(Clone)]
pub struct DeadLetters {
    ports: Ports,
    role: &'static str,
    retrier: Retrier,
    metrics: SharedMetrics,
}

impl DeadLetters {
    /// For a role.
    #[must_use]
    pub fn new(ports: Ports, role: &'static str, metrics: SharedMetrics) -> Self {
        let retrier = Retrier::new(ports.clock.clone(), role);
        Self { ports, role, retrier, metrics }
    }

    /// Appends them; resolves when they are durable, so that their offsets may be stored. What was delivered again for
    /// another role is left out: two roles that each kept what the other one's letter brings would double the
    /// letters at every redelivery.
    ///
    /// # Errors
    /// When the log refuses them for good.
    pub async fn send(&self, letters: &[DeadLetter]) -> Result<(), LogError> {
        let kept: Vec<&DeadLetter> = letters.iter().filter(|letter| self.is_kept(letter)).collect();
        if kept.is_empty() {
            return Ok(());
        }
        let records: Vec<NewRecord> = kept.iter().map(|letter| self.to_record(letter)).collect();
        self.retrier.run(|| self.ports.log.append(records.clone())).await?;
        for DeadLetter { record, reason } in kept {
            self.metrics.dead_letters_total.with_label_values(&[reason.word]).inc();
            tracing::warn!(
                role = self.role, reason = reason.word, detail = %reason.detail,
                partition = %record.position.partition, offset = record.position.offset,
                "record put among the dead letters"
            );
        }
        Ok(())
    }

    /// Appends them, then lets their offsets go.
    ///
    /// # Errors
    /// As [`DeadLetters::send`].
    pub async fn bury(&self, letters: &[DeadLetter], progress: &mut Progress) -> Result<(), LogError> {
        self.send(letters).await?;
        for letter in letters {
            progress.release(letter.record.position);
        }
        Ok(())
    }

    fn is_kept(&self, letter: &DeadLetter) -> bool {
        let redelivery = RedeliveryHeaders::from_headers(&letter.record.headers);
        let role = redelivery.and_then(|redelivery| redelivery.failure?.role);
        match role {
            Some(role) if role != self.role => {
                tracing::debug!(
                    role = self.role,
                    of = role,
                    reason = letter.reason.word,
                    "not kept: it was delivered again for another role"
                );
                false
            }
            Some(_) | None => true,
        }
    }

    /// A record that failed before counts its attempts, and keeps when and where that began.
    fn to_record(&self, letter: &DeadLetter) -> NewRecord {
        let DeadLetter { record, reason } = letter;
        let redelivery = RedeliveryHeaders::from_headers(&record.headers);
        let source = redelivery.as_ref().map_or_else(|| record.position.into(), |known| known.source);
        let failure = redelivery.and_then(|known| known.failure);
        let headers = DeadLetterHeaders {
            reason: reason.word.to_owned(),
            detail: reason.detail.chars().take(DETAIL_CHARS).collect(),
            role: self.role.to_owned(),
            source,
            attempts: failure.as_ref().map_or(1, |failure| failure.attempts.saturating_add(1)),
            first_failed_at_ms: failure
                .map_or_else(|| self.ports.clock.now().get(), |failure| failure.first_failed_at_ms),
        };
        let mut kept = kept(record);
        kept.headers.extend(headers.to_headers());
        kept
    }
}

/// What a letter holds of the record: all of it, or of a large one its beginning.
fn kept(record: &Record) -> NewRecord {
    let beginning = |bytes: &Bytes, max: usize| bytes.slice(..bytes.len().min(max));
    let key = record.key.clone().unwrap_or_default();
    let original = original_headers(&record.headers);
    let header_bytes = |(name, value): &(String, String)| name.len() + value.len();
    let size = key.len() + record.payload.len() + original.iter().map(header_bytes).sum::<usize>();
    let mut letter = NewRecord {
        topic: Topic::DeadLetters,
        key: beginning(&key, KEY_BYTES_KEPT),
        payload: beginning(&record.payload, PAYLOAD_BYTES_KEPT),
        headers: Vec::with_capacity(original.len() + 1),
    };
    let mut left = HEADER_BYTES_KEPT;
    for header in original {
        let Some(rest) = left.checked_sub(header_bytes(&header)) else { continue };
        left = rest;
        letter.headers.push(header);
    }
    let size_kept = letter.key.len() + letter.payload.len() + HEADER_BYTES_KEPT - left;
    if size_kept < size {
        letter.headers.push((header_name::CUT_FROM_BYTES.to_owned(), size.to_string()));
    }
    letter
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmark_domain::time::TimeMs;
    use readmark_log::{Position, TopicPartition};

    fn record(key: usize, payload: usize, headers: &[(&str, usize)]) -> Record {
        let text = |bytes: usize| "x".repeat(bytes);
        Record {
            position: Position { partition: TopicPartition { topic: Topic::Acks, partition: 0 }, offset: 0 },
            key: Some(text(key).into()),
            payload: text(payload).into(),
            headers: headers.iter().map(|(name, bytes)| ((*name).to_owned(), text(*bytes))).collect(),
            appended_at: TimeMs::ZERO,
        }
    }

    #[test]
    fn what_readmark_writes_is_kept_whole() {
        let record = record(20, readmark_events::MAX_RECORD_BYTES + 1, &[("trace", 100)]);
        let letter = kept(&record);
        assert_eq!(Some(&letter.key), record.key.as_ref());
        assert_eq!((&letter.payload, &letter.headers), (&record.payload, &record.headers));
    }

    #[test]
    fn of_what_is_larger_the_beginning_is_kept() {
        let large = record(1_000_000, 10_000_000, &[("a", 60_000), ("b", 60_000), ("c", 5)]);
        let letter = kept(&large);
        assert_eq!((letter.key.len(), letter.payload.len()), (KEY_BYTES_KEPT, PAYLOAD_BYTES_KEPT));
        let names: Vec<&str> = letter.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "c", header_name::CUT_FROM_BYTES]);
        assert_eq!(letter.headers[2].1, "11120008");
        // Delivered again it is a letter once more, which says the same.
        let again =
            Record { key: Some(letter.key), payload: letter.payload, headers: letter.headers, ..large };
        assert_eq!(kept(&again).headers, again.headers);
    }
}
