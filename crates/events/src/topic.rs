//! The topics. Names carry a version; the prefix is configured.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A topic of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topic {
    /// What the IM says, keyed by conversation.
    ConversationEvents,
    /// Receipts and recounts, keyed by sender.
    Acks,
    /// What users say about themselves, keyed by user.
    Marks,
    /// What the catalog has applied, keyed by conversation.
    ConversationChanged,
    /// What has changed for a user, keyed by that user.
    ReadChanged,
    /// Records that could not be handled, keyed as the original.
    DeadLetters,
}

impl Topic {
    /// Every topic.
    pub const ALL: [Self; 6] = [
        Self::ConversationEvents,
        Self::Acks,
        Self::Marks,
        Self::ConversationChanged,
        Self::ReadChanged,
        Self::DeadLetters,
    ];

    /// The short name, as in `--topic acks`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ConversationEvents => "conversation-events",
            Self::Acks => "acks",
            Self::Marks => "marks",
            Self::ConversationChanged => "conversation-changed",
            Self::ReadChanged => "read-changed",
            Self::DeadLetters => "dead-letters",
        }
    }

    /// The full name, as in `readmark.acks.v1`.
    #[must_use]
    pub fn full_name(self, prefix: &str) -> String {
        format!("{prefix}.{}.v1", self.as_str())
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// No topic has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no topic {0:?}: conversation-events, acks, marks, conversation-changed, read-changed or dead-letters"
)]
pub struct UnknownTopic(String);

impl std::str::FromStr for Topic {
    type Err = UnknownTopic;
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|topic| topic.as_str() == name)
            .ok_or_else(|| UnknownTopic(name.to_owned()))
    }
}
