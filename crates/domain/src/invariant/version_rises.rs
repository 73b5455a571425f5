use super::{Checked, Invariant};
use crate::counting::{Tally, TallyVersion};

/// RR-8.
pub(super) const RR_8: Invariant = Invariant {
    id: "RR-8",
    sentence: "the version of a message's tally rises with every change of its content; an answer or event with a \
               lower version is ignored",
};

/// Two tallies of one message, the second of a later state.
#[derive(Debug, Clone, Copy)]
pub struct VersionRises<'a> {
    /// Of the earlier state.
    pub before: &'a Tally,
    /// Of the later state.
    pub after: &'a Tally,
}

impl VersionRises<'_> {
    /// The version never falls, and at an equal version the content is equal.
    ///
    /// # Errors
    /// A violation of RR-8.
    pub fn check(&self) -> Checked {
        let content = |tally: &Tally| (tally.read, tally.total, tally.mode);
        let same = content(self.before) == content(self.after);
        let (from, to) = (self.before.version, self.after.version);
        RR_8.require(from < to || (from == to && same), || format!("{self:?}"))
    }
}

/// A receiver that was offered a version.
#[derive(Debug, Clone, Copy)]
pub struct LowerIsIgnored {
    /// The version it had.
    pub known: Option<TallyVersion>,
    /// The version offered.
    pub offered: TallyVersion,
    /// Did it take it?
    pub taken: bool,
}

impl LowerIsIgnored {
    /// Exactly a greater version is taken.
    ///
    /// # Errors
    /// A violation of RR-8.
    pub fn check(&self) -> Checked {
        let greater = self.known.is_none_or(|known| known < self.offered);
        RR_8.require(self.taken == greater, || format!("{self:?}"))
    }
}
