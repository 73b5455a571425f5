use readmark_domain::id::{ConversationId, Seq, Uid, seq_or_zero};
use readmark_domain::register::{Latest, Presence, ReceiptsMode};
use readmark_domain::seq_ranges::SeqRanges;
use readmark_domain::time::TimeMs;
use serde::{Deserialize, Serialize};

/// What the catalog has applied (topic conversation-changed, key conversation_id).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ConversationChanged {
    /// Messages are in the store and the head is at least here.
    Head {
        /// The conversation.
        conversation_id: ConversationId,
        /// The head as raised. It may be beyond these messages: what stands between is told by other records.
        #[serde(with = "seq_or_zero")]
        #[schemars(schema_with = "seq_or_zero::schema")]
        head_seq: Seq,
        /// The messages written; none for an imported head.
        messages: Vec<HeadMessage>,
    },
    /// These seqs count as unread for nobody.
    Uncounted {
        /// The conversation.
        conversation_id: ConversationId,
        /// Recalled, skipped or not countable.
        seqs: SeqRanges,
        /// The head as raised, zero when this did not touch it.
        #[serde(with = "seq_or_zero")]
        #[schemars(schema_with = "seq_or_zero::schema")]
        head_seq: Seq,
    },
    /// A member's presence as read back after the write.
    Roster {
        /// The conversation.
        conversation_id: ConversationId,
        /// The member.
        uid: Uid,
        /// Its presence, as an order key: even is present, odd is absent.
        presence: Presence,
        /// The seq after which it joined.
        #[serde(with = "seq_or_zero")]
        #[schemars(schema_with = "seq_or_zero::schema")]
        joined_seq: Seq,
    },
    /// The conversation was closed or opened.
    Closed {
        /// The conversation.
        conversation_id: ConversationId,
        /// The register as read back.
        closed: Latest,
    },
    /// The policy as read back.
    Policy {
        /// The conversation.
        conversation_id: ConversationId,
        /// The policy in force.
        receipts: ReceiptsMode,
    },
}

/// A message, as the notifier needs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HeadMessage {
    /// Its place.
    pub seq: Seq,
    /// Who sent it.
    pub sender_uid: Uid,
    /// When.
    pub sent_at: TimeMs,
    /// Does it count as unread?
    pub countable: bool,
    /// Who is mentioned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<Uid>,
    /// Is everybody mentioned?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mention_all: bool,
}

impl ConversationChanged {
    /// The conversation, which is the record's key.
    #[must_use]
    pub const fn conversation_id(&self) -> &ConversationId {
        match self {
            Self::Head { conversation_id, .. }
            | Self::Uncounted { conversation_id, .. }
            | Self::Roster { conversation_id, .. }
            | Self::Closed { conversation_id, .. }
            | Self::Policy { conversation_id, .. } => conversation_id,
        }
    }
}
