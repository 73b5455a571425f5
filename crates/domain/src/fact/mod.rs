//! Facts: what happened, as it is written to the log. One file per fact.

mod acked;
mod cleared;
mod conversation_closed;
mod conversation_policy;
mod flag_set;
mod head_imported;
mod member_joined;
mod member_left;
mod message_recalled;
mod message_sent;
mod read_up_to;
mod recount;
mod seq_skipped;
mod stamp;
mod user_erased;
mod user_settings;
mod watermark_imported;

pub use acked::{MAX_RECORD_RANGES, MAX_RECORD_SEQS, Origin, Receipts};
pub use cleared::Cleared;
pub use conversation_closed::ConversationClosed;
pub use conversation_policy::ConversationPolicy;
pub use flag_set::FlagSet;
pub use head_imported::HeadImported;
pub use member_joined::MemberJoined;
pub use member_left::MemberLeft;
pub use message_recalled::MessageRecalled;
pub use message_sent::{MAX_MENTIONS, MessageSent};
pub use read_up_to::ReadUpTo;
pub use recount::Recount;
pub use seq_skipped::{MAX_SKIP_SEQS, SeqSkipped};
pub use stamp::{FactError, order_of};
pub use user_erased::UserErased;
pub use user_settings::UserSettings;
pub use watermark_imported::WatermarkImported;

use crate::id::{ConversationId, Uid};
use crate::time::TimeMs;
use serde::{Deserialize, Serialize};

/// What the IM says about a conversation (topic conversation-events, key conversation_id).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(missing_docs, reason = "each variant is documented by its fact")]
pub enum ConversationFact {
    MessageSent(MessageSent),
    MessageRecalled(MessageRecalled),
    SeqSkipped(SeqSkipped),
    MemberJoined(MemberJoined),
    MemberLeft(MemberLeft),
    ConversationClosed(ConversationClosed),
    ConversationPolicy(ConversationPolicy),
    HeadImported(HeadImported),
}

impl ConversationFact {
    /// The conversation it is about, which is the record's key.
    #[must_use]
    pub const fn conversation_id(&self) -> &ConversationId {
        match self {
            Self::MessageSent(fact) => &fact.conversation_id,
            Self::MessageRecalled(fact) => &fact.conversation_id,
            Self::SeqSkipped(fact) => &fact.conversation_id,
            Self::MemberJoined(fact) => &fact.conversation_id,
            Self::MemberLeft(fact) => &fact.conversation_id,
            Self::ConversationClosed(fact) => &fact.conversation_id,
            Self::ConversationPolicy(fact) => &fact.conversation_id,
            Self::HeadImported(fact) => &fact.conversation_id,
        }
    }

    /// When it happened, where the fact says so.
    #[must_use]
    pub const fn occurred_at(&self) -> Option<TimeMs> {
        match self {
            Self::MessageSent(fact) => Some(fact.occurred_at),
            Self::MessageRecalled(fact) => Some(fact.occurred_at),
            Self::SeqSkipped(fact) => Some(fact.occurred_at),
            Self::MemberJoined(fact) => fact.occurred_at,
            Self::MemberLeft(fact) => fact.occurred_at,
            Self::ConversationClosed(fact) => fact.occurred_at,
            Self::ConversationPolicy(fact) => fact.occurred_at,
            Self::HeadImported(fact) => Some(fact.occurred_at),
        }
    }
}

/// What readers say about messages of one sender (topic acks, key sender_uid).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(missing_docs, reason = "each variant is documented by its fact")]
pub enum AckFact {
    Receipts(Receipts),
    Recount(Recount),
}

impl AckFact {
    /// The sender of the messages, which is the record's key.
    #[must_use]
    pub const fn sender_uid(&self) -> Uid {
        match self {
            Self::Receipts(fact) => fact.sender_uid,
            Self::Recount(fact) => fact.sender_uid,
        }
    }
}

/// What users say about themselves (topic marks, key uid).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(missing_docs, reason = "each variant is documented by its fact")]
pub enum MarkFact {
    ReadUpTo(ReadUpTo),
    Cleared(Cleared),
    MarkedUnread(FlagSet),
    Muted(FlagSet),
    UserSettings(UserSettings),
    UserErased(UserErased),
    WatermarkImported(WatermarkImported),
}

impl MarkFact {
    /// The user it is about, which is the record's key.
    #[must_use]
    pub const fn uid(&self) -> Uid {
        match self {
            Self::ReadUpTo(fact) => fact.uid,
            Self::Cleared(fact) => fact.uid,
            Self::MarkedUnread(fact) | Self::Muted(fact) => fact.uid,
            Self::UserSettings(fact) => fact.uid,
            Self::UserErased(fact) => fact.uid,
            Self::WatermarkImported(fact) => fact.uid,
        }
    }

    /// When it happened.
    #[must_use]
    pub const fn occurred_at(&self) -> TimeMs {
        match self {
            Self::ReadUpTo(fact) => fact.occurred_at,
            Self::Cleared(fact) => fact.occurred_at,
            Self::MarkedUnread(fact) | Self::Muted(fact) => fact.occurred_at,
            Self::UserSettings(fact) => fact.occurred_at,
            Self::UserErased(fact) => fact.occurred_at,
            Self::WatermarkImported(fact) => fact.occurred_at,
        }
    }
}
