use super::{Checked, Invariant};
use crate::counting::Tally;
use crate::id::Uid;

/// RR-4.
pub(super) const RR_4: Invariant = Invariant {
    id: "RR-4",
    sentence: "N ≤ M; readers and non-readers are disjoint and together are exactly the M who count",
};

/// A tally alone.
#[derive(Debug, Clone, Copy)]
pub struct TallyBounds {
    /// N.
    pub read: u32,
    /// M.
    pub total: u32,
}

impl TallyBounds {
    /// N ≤ M.
    ///
    /// # Errors
    /// A violation of RR-4.
    pub fn check(&self) -> Checked {
        RR_4.require(self.read <= self.total, || format!("{} of {}", self.read, self.total))
    }
}

/// A tally with both of its lists, counted from the same rows.
#[derive(Debug, Clone, Copy)]
pub struct TallyLists<'a> {
    /// The tally.
    pub tally: &'a Tally,
    /// Who counts and has read, ascending.
    pub readers: &'a [Uid],
    /// Who counts and has not, ascending.
    pub non_readers: &'a [Uid],
}

impl TallyLists<'_> {
    /// N and M are the lengths, and nobody is named twice.
    ///
    /// # Errors
    /// A violation of RR-4.
    pub fn check(&self) -> Checked {
        TallyBounds { read: self.tally.read, total: self.tally.total }.check()?;
        let (read, unread) = (self.readers.len(), self.non_readers.len());
        let counts = read == self.tally.read as usize && read + unread == self.tally.total as usize;
        let ascending = [self.readers, self.non_readers].iter().all(|list| list.is_sorted_by(|a, b| a < b));
        let disjoint = self.readers.iter().all(|uid| self.non_readers.binary_search(uid).is_err());
        RR_4.require(counts && ascending && disjoint, || format!("{self:?}"))
    }
}
