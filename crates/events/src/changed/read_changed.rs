use readmark_domain::counting::TallyVersion;
use readmark_domain::id::{ConversationId, Endpoint, Seq, Uid, count, seq_or_zero};
use readmark_domain::register::{Latest, ReceiptsMode};
use serde::{Deserialize, Serialize};

/// What a user's devices must learn of (topic read-changed, key the user). At least once: a version or seq
/// not greater than the last one known is to be ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(missing_docs, reason = "each variant is documented by its struct")]
pub enum ReadChanged {
    MessageRead(MessageRead),
    ConversationRead(ConversationRead),
    FlagsChanged(FlagsChanged),
}

/// To the sender: N/M of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MessageRead {
    /// The sender.
    pub uid: Uid,
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The message.
    pub seq: Seq,
    /// The conversation's policy.
    pub mode: ReceiptsMode,
    /// N.
    #[serde(with = "count")]
    #[schemars(schema_with = "count::schema")]
    pub read: u32,
    /// M.
    #[serde(with = "count")]
    #[schemars(schema_with = "count::schema")]
    pub total: u32,
    /// Readers this change added, in conversations of up to 500 members; may be left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readers_added: Vec<Uid>,
    /// The greater is the newer.
    pub tally_version: TallyVersion,
}

/// To all endpoints of the reader: the registers as read back after the write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ConversationRead {
    /// The reader.
    pub uid: Uid,
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The watermark.
    #[serde(with = "seq_or_zero")]
    #[schemars(schema_with = "seq_or_zero::schema")]
    pub read_seq: Seq,
    /// The seq up to which nothing is unread.
    #[serde(with = "seq_or_zero")]
    #[schemars(schema_with = "seq_or_zero::schema")]
    pub floor_seq: Seq,
    /// Where the watermark was raised from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// The flag, with its order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked_unread: Option<Latest>,
}

/// To all endpoints of the reader: flags as read back after the write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FlagsChanged {
    /// The reader.
    pub uid: Uid,
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The flag, with its order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked_unread: Option<Latest>,
    /// The flag, with its order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub muted: Option<Latest>,
    /// Which device changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
}

impl ReadChanged {
    /// Whom it is for, which is the record's key.
    #[must_use]
    pub const fn uid(&self) -> Uid {
        match self {
            Self::MessageRead(told) => told.uid,
            Self::ConversationRead(told) => told.uid,
            Self::FlagsChanged(told) => told.uid,
        }
    }
}
