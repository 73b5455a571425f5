use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Where a dead letter lies in the topic of dead letters; written `partition:offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct LetterId {
    /// The partition.
    pub partition: u32,
    /// The offset in it.
    pub offset: u64,
}

/// A text names no dead letter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a dead letter is named by partition:offset, as in 0:41, not {0:?}")]
pub struct LetterIdError(String);

impl fmt::Display for LetterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.partition, self.offset)
    }
}

impl FromStr for LetterId {
    type Err = LetterIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let parts =
            text.split_once(':').filter(|(partition, offset)| is_number(partition) && is_number(offset));
        let id = parts.and_then(|(partition, offset)| {
            Some(Self { partition: partition.parse().ok()?, offset: offset.parse().ok()? })
        });
        id.ok_or_else(|| LetterIdError(text.to_owned()))
    }
}

impl From<LetterId> for String {
    fn from(id: LetterId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for LetterId {
    type Error = LetterIdError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::LetterId;

    #[test]
    fn a_name_is_read_back() {
        for id in [
            LetterId { partition: 0, offset: 0 },
            LetterId { partition: 63, offset: 41 },
            LetterId { partition: u32::MAX, offset: u64::MAX },
        ] {
            assert_eq!(id.to_string().parse(), Ok(id));
            assert_eq!(serde_json::from_value::<LetterId>(serde_json::json!(id)).unwrap(), id);
        }
    }

    #[test]
    fn other_texts_name_nothing() {
        for wrong in
            ["", "0", ":", "0:", ":1", "0:1:2", "+0:1", "0:-1", " 0:1", "0: 1", "a:1", "4294967296:0"]
        {
            assert!(wrong.parse::<LetterId>().is_err(), "{wrong:?}");
        }
    }
}
