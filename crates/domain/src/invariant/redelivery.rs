use super::{Checked, Invariant};
use std::fmt::Debug;

/// RR-6.
pub(super) const RR_6: Invariant = Invariant {
    id: "RR-6",
    sentence: "delivering any prefix, suffix or shuffle of the log again changes no state and appends nothing to \
               any sync stream (an equal message_read of an old message may be told again)",
};

/// State before and after facts were delivered that it already holds.
#[derive(Debug, Clone, Copy)]
pub struct Redelivery<'a, S> {
    /// Before.
    pub before: &'a S,
    /// After.
    pub after: &'a S,
    /// Entries appended to sync streams meanwhile.
    pub entries_appended: u64,
}

impl<S: PartialEq + Debug> Redelivery<'_, S> {
    /// Nothing changed and nobody was told.
    ///
    /// # Errors
    /// A violation of RR-6.
    pub fn check(&self) -> Checked {
        RR_6.require(self.before == self.after && self.entries_appended == 0, || {
            let Self { before, after, entries_appended } = self;
            format!("{entries_appended} entries appended; before {before:?}; after {after:?}")
        })
    }
}
