use super::{Checked, Invariant};
use crate::id::{Seq, Uid};

/// RR-2.
pub(super) const RR_2: Invariant = Invariant {
    id: "RR-2",
    sentence: "an ack answered with 202 ends in a read array (unless the message is expired or recalled or the \
               reader's receipts are off) or among the dead letters, whatever is killed; the sender is told of \
               every change of the newest 1,000 messages of a conversation, and of every message that a receipt \
               completes",
};

/// Why a receipt needs to be nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excuse {
    /// The message is gone.
    Expired,
    /// The message was recalled, or its seq was declared to be no message.
    Void,
    /// The message was sent before the reader last switched receipts off.
    ReceiptsOff,
}

/// Where an accepted receipt is when all work is done, and what the sender knows.
#[derive(Debug, Clone, Copy)]
pub struct NothingLost {
    /// The message.
    pub seq: Seq,
    /// Who has read it.
    pub reader: Uid,
    /// In the read array?
    pub stored: bool,
    /// Among the dead letters?
    pub dead: bool,
    /// May it be nowhere?
    pub excuse: Option<Excuse>,
    /// Must the sender's device show the truth of this message ([`crate::window::is_told`])?
    pub to_be_told: bool,
    /// Does it?
    pub told: bool,
}

impl NothingLost {
    /// The receipt is somewhere or excused, and who must be told has been told.
    ///
    /// # Errors
    /// A violation of RR-2.
    pub fn check(&self) -> Checked {
        let somewhere = self.stored || self.dead || self.excuse.is_some();
        RR_2.require(somewhere && (self.told || !self.to_be_told), || format!("{self:?}"))
    }
}
