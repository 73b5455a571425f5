use crate::id::ConversationId;
use crate::time::{Order, TimeMs};
use serde::{Deserialize, Serialize};

/// A conversation was closed (leaves all totals; no more acks) or opened again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ConversationClosed {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// Closed, or open again.
    pub closed: bool,
    /// When; the order, unless the installation uses versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurred_at: Option<TimeMs>,
    /// The order where the installation uses versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Order>,
}
