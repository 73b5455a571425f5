use super::{Checked, Invariant};
use crate::id::Seq;

/// RR-3.
pub(super) const RR_3: Invariant = Invariant {
    id: "RR-3",
    sentence: "a watermark never falls: not in a store, not in a sync stream, not in an answer about applied state",
};

/// A watermark (or head, floor, or any other register of seqs) seen twice in one place.
#[derive(Debug, Clone, Copy)]
pub struct NeverFalls {
    /// As seen first.
    pub before: Seq,
    /// As seen afterwards.
    pub after: Seq,
}

impl NeverFalls {
    /// It is where it was, or above.
    ///
    /// # Errors
    /// A violation of RR-3.
    pub fn check(&self) -> Checked {
        RR_3.require(self.before <= self.after, || format!("fell from {} to {}", self.before, self.after))
    }
}
