use crate::id::{ConversationId, Seq};
use crate::time::TimeMs;
use serde::{Deserialize, Serialize};

/// A message was recalled: it is unread for nobody and answers 0/0. May come before the message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MessageRecalled {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The message.
    pub seq: Seq,
    /// When.
    pub occurred_at: TimeMs,
}
