use crate::id::{ConversationId, Endpoint, Uid};
use crate::time::TimeMs;
use serde::{Deserialize, Serialize};

/// A user set or took away a flag of a conversation (marked unread, muted).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FlagSet {
    /// The user.
    pub uid: Uid,
    /// The conversation.
    pub conversation_id: ConversationId,
    /// Set, or taken away.
    pub value: bool,
    /// From which device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// When; the order of the flag.
    pub occurred_at: TimeMs,
}
