use crate::id::{ConversationId, Endpoint, Seq, Uid};
use crate::time::TimeMs;
use serde::{Deserialize, Serialize};

/// A user has read a conversation up to here: one small fact, however many messages it covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReadUpTo {
    /// The user.
    pub uid: Uid,
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The last message read.
    pub up_to_seq: Seq,
    /// From which device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// When.
    pub occurred_at: TimeMs,
}
