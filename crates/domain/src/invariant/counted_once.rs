use super::{Checked, Invariant};
use crate::id::Uid;
use crate::read_array::ReadArray;
use std::collections::BTreeSet;

/// RR-1.
pub(super) const RR_1: Invariant = Invariant {
    id: "RR-1",
    sentence: "a receipt counts once, however often and in whatever order it is delivered",
};

/// A read array, and the readers of all receipts that were stored into it, as often as they came.
#[derive(Debug, Clone, Copy)]
pub struct CountedOnce<'a> {
    /// In any order, repeated or not.
    pub delivered: &'a [Uid],
    /// What became of them.
    pub array: &'a ReadArray,
}

impl CountedOnce<'_> {
    /// Each reader is in the array once, and nobody else is.
    ///
    /// # Errors
    /// A violation of RR-1.
    pub fn check(&self) -> Checked {
        let wanted: BTreeSet<Uid> = self.delivered.iter().copied().collect();
        RR_1.require(self.array.readers().iter().eq(&wanted), || {
            format!("delivered {wanted:?}, stored {:?}", self.array.readers())
        })
    }
}
