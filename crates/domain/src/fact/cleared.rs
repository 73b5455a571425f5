use crate::id::{ConversationId, Endpoint, Seq, Uid};
use crate::time::TimeMs;
use serde::{Deserialize, Serialize};

/// Nothing up to here is unread any more for this user; makes no receipts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Cleared {
    /// The user.
    pub uid: Uid,
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The last message cleared.
    pub up_to_seq: Seq,
    /// From which device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// When; the order in which it takes away marked_unread.
    pub occurred_at: TimeMs,
}
