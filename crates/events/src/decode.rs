//! Payloads: JSON with a version, read within limits.

use crate::record::{Fact, RECORD_VERSION};
use readmark_domain::fact::FactError;
use serde::{Deserialize, Serialize};

/// Largest payload of a record. Kafka's default limit is 1 MiB; a quarter leaves room for a batch.
pub const MAX_RECORD_BYTES: usize = 256 * 1024;

/// Most characters of a foreign text shown in an error: as long as the longest id.
const MAX_SHOWN_CHARS: usize = 64;

/// Why a payload is no record of its topic. None of these heals by waiting: all are dead letters.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Larger than [`MAX_RECORD_BYTES`].
    #[error("payload of {bytes} bytes is larger than {MAX_RECORD_BYTES}")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// No JSON, a wrong type, a missing field.
    #[error("payload is no record: {0}")]
    Malformed(#[source] serde_json::Error),
    /// A kind of fact that this program does not know.
    #[error("record of kind {0:?}, which this program does not know")]
    UnknownKind(String),
    /// Of a version this program does not know.
    #[error("record of version {0}, this program knows up to {RECORD_VERSION}")]
    UnknownVersion(u64),
    /// The record lies under another key than its content says.
    #[error("record has the key {actual:?}, its content says {expected:?}")]
    WrongKey {
        /// The record's key, lossily as text.
        actual: String,
        /// What it should be.
        expected: String,
    },
    /// Well-formed, but outside what a fact may say.
    #[error("fact can't be used: {0}")]
    BadFact(#[from] FactError),
}

impl DecodeError {
    /// A word for metrics and the dead letter's header.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "too-large",
            Self::Malformed(_) => "malformed",
            Self::UnknownKind(_) => "unknown-kind",
            Self::UnknownVersion(_) => "unknown-version",
            Self::WrongKey { .. } => "wrong-key",
            Self::BadFact(_) => "bad-fact",
        }
    }
}

#[derive(Deserialize)]
struct VersionOnly {
    v: Option<u64>,
}

#[derive(Serialize)]
struct Versioned<'a, F> {
    v: u32,
    #[serde(flatten)]
    fact: &'a F,
}

/// Reads the payload of a record and checks its version, its fields and its key.
///
/// # Errors
/// [`DecodeError`]: the record is a dead letter.
pub fn decode<F: Fact>(key: Option<&[u8]>, payload: &[u8]) -> Result<F, DecodeError> {
    if payload.len() > MAX_RECORD_BYTES {
        return Err(DecodeError::TooLarge { bytes: payload.len() });
    }
    let VersionOnly { v } = serde_json::from_slice(payload).map_err(DecodeError::Malformed)?;
    match v {
        Some(other) if other != u64::from(RECORD_VERSION) => return Err(DecodeError::UnknownVersion(other)),
        None | Some(_) => {}
    }
    let fact: F = serde_json::from_slice(payload).map_err(|error| refused::<F>(payload, error))?;
    fact.check()?;
    let expected = fact.key();
    if key != Some(expected.as_bytes()) {
        let actual = String::from_utf8_lossy(key.unwrap_or_default()).chars().take(MAX_SHOWN_CHARS).collect();
        return Err(DecodeError::WrongKey { actual, expected });
    }
    Ok(fact)
}

/// Tells a fact of an unknown kind, which a newer program may know, from a broken one.
fn refused<F: Fact>(payload: &[u8], error: serde_json::Error) -> DecodeError {
    let fields: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(payload).unwrap_or_default();
    match fields.get(F::TAG).and_then(serde_json::Value::as_str) {
        Some(kind) if !F::KINDS.contains(&kind) => {
            DecodeError::UnknownKind(kind.chars().take(MAX_SHOWN_CHARS).collect())
        }
        _ => DecodeError::Malformed(error),
    }
}

/// Writes the payload of a record.
///
/// # Errors
/// What [`decode`] would refuse the record for: [`DecodeError::TooLarge`] or [`DecodeError::BadFact`]. The
/// caller split its work wrongly.
pub fn encode<F: Fact>(fact: &F) -> Result<Vec<u8>, DecodeError> {
    fact.check()?;
    let payload =
        serde_json::to_vec(&Versioned { v: RECORD_VERSION, fact }).map_err(DecodeError::Malformed)?;
    if payload.len() > MAX_RECORD_BYTES {
        return Err(DecodeError::TooLarge { bytes: payload.len() });
    }
    Ok(payload)
}
