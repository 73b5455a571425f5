//! Records that can't be handled are kept: the original bytes, with the reason in headers.

use crate::metrics::SharedMetrics;
use crate::ports::Ports;
use crate::progress::Progress;
use crate::retry::Retrier;
use bytes::Bytes;
use readmark_events::{DeadLetterHeaders, DecodeError, Topic};
use readmark_log::{LogError, NewRecord, Record};

/// Longest detail kept in a header.
const DETAIL_CHARS: usize = 512;

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

    /// Appends them; resolves when they are durable, so that their offsets may be stored.
    ///
    /// # Errors
    /// When the log refuses them for good.
    pub async fn send(&self, letters: &[DeadLetter]) -> Result<(), LogError> {
        if letters.is_empty() {
            return Ok(());
        }
        let records: Vec<NewRecord> = letters.iter().map(|letter| self.to_record(letter)).collect();
        self.retrier.run(|| self.ports.log.append(records.clone())).await?;
        for DeadLetter { record, reason } in letters {
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

    fn to_record(&self, letter: &DeadLetter) -> NewRecord {
        let DeadLetter { record, reason } = letter;
        let headers = DeadLetterHeaders {
            reason: reason.word.to_owned(),
            detail: reason.detail.chars().take(DETAIL_CHARS).collect(),
            role: self.role.to_owned(),
            source_topic: record.position.partition.topic,
            source_partition: record.position.partition.partition,
            source_offset: record.position.offset,
            attempts: 1,
            first_failed_at_ms: self.ports.clock.now().get(),
        };
        NewRecord {
            topic: Topic::DeadLetters,
            key: record.key.clone().unwrap_or_else(Bytes::new),
            payload: record.payload.clone(),
            headers: record.headers.iter().cloned().chain(headers.to_headers()).collect(),
        }
    }
}
