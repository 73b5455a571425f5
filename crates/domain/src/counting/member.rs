use crate::id::{Seq, Uid};
use crate::register::{Presence, UserSwitches};

/// A row of a conversation's members. A row stays when its user leaves: absence is a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Member {
    /// Who.
    pub uid: Uid,
    /// Present or absent; `None` when only other facts about the user are known so far.
    pub presence: Option<Presence>,
    /// The greatest seq after which it joined.
    pub joined: Seq,
    /// A copy of the user's switches.
    pub switches: UserSwitches,
    /// A copy of the highest "read up to" asked.
    pub claimed: Seq,
    /// A copy of the imported watermark: nothing at or below it makes receipts.
    pub imported: Seq,
}

impl Member {
    /// Present?
    #[must_use]
    pub fn is_present(&self) -> bool {
        self.presence.is_some_and(Presence::is_present)
    }
}
