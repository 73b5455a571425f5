use super::{Checked, Invariant};

/// RR-10.
pub(super) const RR_10: Invariant = Invariant {
    id: "RR-10",
    sentence: "missing data is an error or \"not known\", never \"read by all\" and never \"0 unread\"",
};

/// What an answer shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// An error, or "not known".
    NotKnown,
    /// A tally.
    Tally {
        /// N.
        read: u32,
        /// M.
        total: u32,
        /// Shown as read by all?
        all_read: bool,
    },
    /// A number of unread messages.
    Unread(u64),
}

/// An answer, beside whether all the data it needs was there.
#[derive(Debug, Clone, Copy)]
pub struct MissingIsUnknown {
    /// Was every row read that the answer needs?
    pub complete: bool,
    /// What it shows.
    pub shown: Shown,
}

impl MissingIsUnknown {
    /// Without the data nothing good is claimed; with it "read by all" needs a reader.
    ///
    /// # Errors
    /// A violation of RR-10.
    pub fn check(&self) -> Checked {
        let held = match self.shown {
            Shown::NotKnown => true,
            Shown::Tally { all_read: false, .. } => true,
            Shown::Tally { read, total, all_read: true } => self.complete && total > 0 && read == total,
            Shown::Unread(unread) => self.complete || unread > 0,
        };
        RR_10.require(held, || format!("{self:?}"))
    }
}
