use crate::id::{ConversationId, Seq, Uid, seq_or_zero};
use crate::time::{Order, TimeMs};
use serde::{Deserialize, Serialize};

/// A user is no member any more: it leaves N and M of every message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MemberLeft {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The member.
    pub uid: Uid,
    /// The head when it left, for the IM's own use.
    #[serde(default, with = "seq_or_zero")]
    #[schemars(schema_with = "seq_or_zero::schema")]
    pub at_seq: Seq,
    /// When; the order, unless the installation uses versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurred_at: Option<TimeMs>,
    /// The order where the installation uses versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Order>,
}
