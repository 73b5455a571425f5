use super::message_count::MessageCount;
use std::fmt;
use std::str::FromStr;

crate::id::numeric::numeric_id!(
    /// The number of an entry in a user's sync stream: from 1, without gaps; zero before the first (RR-9). At most
    /// 2^53 − 1, so that it is exact in JavaScript and in a Redis script.
    Version, "a version", 0, 9_007_199_254_740_991
);

impl Version {
    /// Before the first entry.
    pub const ZERO: Self = Self(0);

    /// The next version; the last one stays, which 285 years of a million entries a second don't reach.
    #[must_use]
    pub const fn next(self) -> Self {
        if self.0 < Self::MAX { Self(self.0 + 1) } else { self }
    }
}

/// Greatest length of an epoch in bytes.
const MAX_EPOCH_BYTES: usize = 64;

/// One life of a user's hot state. It is drawn at random at every rebuild, so that no version is ever given twice
/// with other content: what was lost and rebuilt has another epoch.
///
/// 1 to 64 lower-case letters and digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(std::sync::Arc<str>);

/// A text that is no epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an epoch must be 1 to {MAX_EPOCH_BYTES} lower-case letters and digits")]
pub struct EpochError;

impl Epoch {
    /// Checks the form.
    ///
    /// # Errors
    /// [`EpochError`] for anything but 1 to 64 lower-case letters and digits.
    pub fn new(text: &str) -> Result<Self, EpochError> {
        let is_plain = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        if is_plain && (1..=MAX_EPOCH_BYTES).contains(&text.len()) {
            Ok(Self(text.into()))
        } else {
            Err(EpochError)
        }
    }

    /// From random bits.
    #[must_use]
    pub fn of_random(bits: u128) -> Self {
        Self(format!("{bits:032x}").into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// How far a device has followed a user's stream: `epoch.version`, opaque to clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncToken {
    /// Of which life of the stream.
    pub epoch: Epoch,
    /// The newest entry it has.
    pub version: Version,
}

/// A text that is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a token is what an answer gave as token, unchanged")]
pub struct SyncTokenError;

impl fmt::Display for SyncToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.version)
    }
}

impl FromStr for SyncToken {
    type Err = SyncTokenError;

    fn from_str(text: &str) -> Result<Self, SyncTokenError> {
        let (epoch, version) = text.split_once('.').ok_or(SyncTokenError)?;
        let epoch = Epoch::new(epoch).map_err(|_| SyncTokenError)?;
        Ok(Self { epoch, version: version.parse().map_err(|_| SyncTokenError)? })
    }
}

impl serde::Serialize for SyncToken {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for SyncToken {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for SyncToken {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SyncToken".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^[a-z0-9]{1,64}[.](0|[1-9][0-9]{0,15})$",
            "description": "opaque: how far a device has followed its stream"
        })
    }
}

/// The sum after one part of it changed.
pub(super) fn changed(sum: MessageCount, before: MessageCount, after: MessageCount) -> MessageCount {
    MessageCount::saturating(sum.get().saturating_sub(before.get()).saturating_add(after.get()))
}

#[cfg(test)]
mod tests {
    use super::{Epoch, SyncToken, Version};

    #[test]
    fn a_token_is_read_as_it_was_written() {
        let token = SyncToken { epoch: Epoch::of_random(7 << 90), version: Version::new(41).unwrap() };
        let text = token.to_string();
        assert!(text.ends_with(".41") && text.len() == 35, "{text}");
        assert_eq!(text.parse(), Ok(token));
        assert!("store.0".parse::<SyncToken>().is_ok());
        for text in ["", ".", "a.", ".1", "a.01", "a.-1", "A.1", "a b.1", "a.9007199254740992", "a.1.2"] {
            assert!(text.parse::<SyncToken>().is_err(), "{text}");
        }
    }
}
