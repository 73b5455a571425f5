use super::FactError;
use crate::id::{ConversationId, Seq};
use crate::seq_ranges::SeqRange;
use crate::time::TimeMs;
use serde::{Deserialize, Serialize};

/// Most seqs one skip may cover: as many rows are written.
pub const MAX_SKIP_SEQS: u64 = 65_536;

/// These seqs will never be messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SeqSkipped {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// First seq.
    pub from: Seq,
    /// Last seq.
    pub to: Seq,
    /// When.
    pub occurred_at: TimeMs,
}

impl SeqSkipped {
    /// The skipped seqs.
    ///
    /// # Errors
    /// [`FactError::BadSkip`] the wrong way round or too wide.
    pub fn range(&self) -> Result<SeqRange, FactError> {
        SeqRange::new(self.from, self.to)
            .filter(|range| range.count() <= MAX_SKIP_SEQS)
            .ok_or(FactError::BadSkip)
    }
}
