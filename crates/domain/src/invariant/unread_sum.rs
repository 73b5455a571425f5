use super::{Checked, Invariant};
use crate::id::Seq;

/// RR-5.
pub(super) const RR_5: Invariant = Invariant {
    id: "RR-5",
    sentence: "unread = countable messages above the floor, never negative; the total is the sum of its parts",
};

/// The unread of one user in one conversation, beside every seq that is known there.
#[derive(Debug, Clone, Copy)]
pub struct UnreadSum<'a> {
    /// The head.
    pub head: Seq,
    /// The floor.
    pub floor: Seq,
    /// Every uncounted seq, ascending, each once.
    pub uncounted: &'a [Seq],
    /// What was answered.
    pub unread: u64,
}

impl UnreadSum<'_> {
    /// Every seq above the floor up to the head counts, but the uncounted ones.
    ///
    /// # Errors
    /// A violation of RR-5.
    pub fn check(&self) -> Checked {
        let between =
            self.uncounted.iter().filter(|seq| self.floor < **seq && **seq <= self.head).count() as u64;
        let wanted = if self.head <= self.floor {
            Some(0)
        } else {
            (self.head.get() - self.floor.get()).checked_sub(between)
        };
        RR_5.require(wanted == Some(self.unread), || {
            format!("head {}, floor {}, {between} uncounted: unread {}", self.head, self.floor, self.unread)
        })
    }
}

/// The total of a user, beside its parts.
#[derive(Debug, Clone, Copy)]
pub struct UnreadTotal<'a> {
    /// The unread of each conversation that is in the total (a member's, open, not muted).
    pub parts: &'a [u64],
    /// What was answered.
    pub total: u64,
}

impl UnreadTotal<'_> {
    /// The total is the sum.
    ///
    /// # Errors
    /// A violation of RR-5.
    pub fn check(&self) -> Checked {
        let sum = self.parts.iter().try_fold(0u64, |sum, part| sum.checked_add(*part));
        RR_5.require(sum == Some(self.total), || format!("parts {:?}, total {}", self.parts, self.total))
    }
}
