use super::FactError;
use crate::id::{ConversationId, Endpoint, Uid};
use crate::seq_ranges::SeqRanges;
use crate::time::TimeMs;
use serde::{Deserialize, Serialize};

/// Most seqs in one record of the log.
pub const MAX_RECORD_SEQS: u64 = 10_000;

/// Most ranges in one record of the log, that is the scattered seqs of which a record stays below its limit
/// in bytes (40 each at the most): whoever writes records splits by both.
pub const MAX_RECORD_RANGES: usize = 5_000;

/// Where receipts come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A reader's own ack: raises its watermark.
    Client,
    /// "Read up to" spelled out by the watermark or catalog role: the watermark is up already.
    Expansion,
}

/// One reader has read these messages of one sender in one conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Receipts {
    /// Who sent all of these messages; the record's key.
    pub sender_uid: Uid,
    /// Who has read them.
    pub reader_uid: Uid,
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The messages, 1 to 10,000 seqs.
    pub seqs: SeqRanges,
    /// From which device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// Where it comes from.
    pub origin: Origin,
    /// When they were read.
    pub occurred_at: TimeMs,
}

impl Receipts {
    /// Checks what the types alone can't.
    ///
    /// # Errors
    /// [`FactError::BadSeqCount`] or [`FactError::OwnMessage`].
    pub fn check(&self) -> Result<(), FactError> {
        check_seqs(&self.seqs)?;
        if self.sender_uid == self.reader_uid {
            return Err(FactError::OwnMessage);
        }
        Ok(())
    }
}

/// The bounds of a record's seqs; counts ranges, never walks seqs.
pub(super) fn check_seqs(seqs: &SeqRanges) -> Result<(), FactError> {
    if (1..=MAX_RECORD_SEQS).contains(&seqs.count()) { Ok(()) } else { Err(FactError::BadSeqCount) }
}
