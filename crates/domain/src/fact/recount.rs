use super::FactError;
use super::acked::check_seqs;
use crate::id::{ConversationId, Uid};
use crate::seq_ranges::SeqRanges;
use crate::time::TimeMs;
use serde::{Deserialize, Serialize};

/// Tell this sender the tallies of these messages again: who counts may have changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Recount {
    /// Who sent these messages; the record's key.
    pub sender_uid: Uid,
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The messages, 1 to 10,000 seqs.
    pub seqs: SeqRanges,
    /// When the change happened that asks for it.
    pub occurred_at: TimeMs,
}

impl Recount {
    /// Checks what the types alone can't.
    ///
    /// # Errors
    /// [`FactError::BadSeqCount`].
    pub fn check(&self) -> Result<(), FactError> {
        check_seqs(&self.seqs)
    }
}
