use crate::id::{ConversationId, Seq, Uid};
use crate::time::TimeMs;
use serde::{Deserialize, Serialize};

/// How far a user had read before readmark: raises the watermark, makes no receipts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WatermarkImported {
    /// The user.
    pub uid: Uid,
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The last message read then.
    pub read_seq: Seq,
    /// When.
    pub occurred_at: TimeMs,
}
