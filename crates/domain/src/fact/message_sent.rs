use super::FactError;
use crate::id::{ConversationId, MsgId, Seq, Uid};
use crate::time::TimeMs;
use serde::{Deserialize, Serialize};

/// Most users one message may mention.
pub const MAX_MENTIONS: usize = 200;

/// A message was sent. Written once: another `msg_id` at a known seq is a conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MessageSent {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// Its place there.
    pub seq: Seq,
    /// The IM's own id.
    pub msg_id: MsgId,
    /// Who sent it.
    pub sender_uid: Uid,
    /// When it was sent.
    pub occurred_at: TimeMs,
    /// Does it count as unread? Default true; false for "x joined the group" and the like.
    #[serde(default = "yes")]
    pub countable: bool,
    /// Who is mentioned, at most 200.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<Uid>,
    /// Is everybody mentioned?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mention_all: bool,
}

const fn yes() -> bool {
    true
}

impl MessageSent {
    /// Checks what the types alone can't.
    ///
    /// # Errors
    /// [`FactError::TooManyMentions`].
    pub fn check(&self) -> Result<(), FactError> {
        if self.mentions.len() > MAX_MENTIONS { Err(FactError::TooManyMentions) } else { Ok(()) }
    }
}
