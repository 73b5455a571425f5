use super::{Checked, Invariant};

/// RR-7.
pub(super) const RR_7: Invariant = Invariant {
    id: "RR-7",
    sentence: "an offset is stored only after everything before it is durable and announced",
};

/// A consumer that stores its position in a partition.
#[derive(Debug, Clone, Copy)]
pub struct OffsetAfterDurable {
    /// The position to be stored: the offset of the first record that will be read again.
    pub position: u64,
    /// The lowest offset taken whose effects are not durable and announced yet; `None` when all are.
    pub lowest_pending: Option<u64>,
    /// The offset after the last one taken.
    pub taken_to: u64,
}

impl OffsetAfterDurable {
    /// Nothing pending lies below the position, and nothing that was never taken.
    ///
    /// # Errors
    /// A violation of RR-7.
    pub fn check(&self) -> Checked {
        let most = self.lowest_pending.map_or(self.taken_to, |pending| pending.min(self.taken_to));
        RR_7.require(self.position <= most, || format!("{self:?}"))
    }
}
