use crate::id::{ConversationId, Seq};
use crate::time::TimeMs;
use serde::{Deserialize, Serialize};

/// A conversation existed before readmark: its head then. What lies at or below it is taken as expired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HeadImported {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The newest seq at the time of the import.
    pub head_seq: Seq,
    /// When.
    pub occurred_at: TimeMs,
}
