use crate::id::{ConversationId, Seq, Uid, seq_or_zero};
use crate::time::{Order, TimeMs};
use serde::{Deserialize, Serialize};

/// A user is a member and counts for what comes after `at_seq`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MemberJoined {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The member.
    pub uid: Uid,
    /// The seq after which it joined, 0 for before the first message.
    #[serde(with = "seq_or_zero")]
    #[schemars(schema_with = "seq_or_zero::schema")]
    pub at_seq: Seq,
    /// When; the order, unless the installation uses versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurred_at: Option<TimeMs>,
    /// The order where the installation uses versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Order>,
}
