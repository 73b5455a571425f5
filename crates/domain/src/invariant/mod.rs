//! The invariants RR-1 … RR-10: each an id, a sentence, and a pure predicate over what was observed.
//!
//! One registry for property tests, the simulation, debug assertions and the counter of violations in
//! production: whoever observes something fills the struct of its invariant and calls `check`.

mod counted_once;
mod missing_is_unknown;
mod never_falls;
mod nothing_lost;
mod offset_after_durable;
mod redelivery;
mod sync_without_gaps;
mod tally_bounds;
mod unread_sum;
mod version_rises;

pub use counted_once::CountedOnce;
pub use missing_is_unknown::{MissingIsUnknown, Shown};
pub use never_falls::NeverFalls;
pub use nothing_lost::{Excuse, NothingLost};
pub use offset_after_durable::OffsetAfterDurable;
pub use redelivery::Redelivery;
pub use sync_without_gaps::{Served, SyncWithoutGaps};
pub use tally_bounds::{TallyBounds, TallyLists};
pub use unread_sum::{UnreadSum, UnreadTotal};
pub use version_rises::{LowerIsIgnored, VersionRises};

/// An invariant of the product.
#[derive(Debug, PartialEq, Eq)]
pub struct Invariant {
    /// As in `RR-4`; also the label of the counter of violations.
    pub id: &'static str,
    /// What must always be true.
    pub sentence: &'static str,
}

/// An observation that breaks an invariant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is broken ({}): {detail}", invariant.id, invariant.sentence)]
pub struct Violation {
    /// Which one.
    pub invariant: &'static Invariant,
    /// What was observed.
    pub detail: String,
}

/// What a check says.
pub type Checked = Result<(), Violation>;

/// Every invariant, in the order of its number.
pub const ALL: [&Invariant; 10] = [
    &counted_once::RR_1,
    &nothing_lost::RR_2,
    &never_falls::RR_3,
    &tally_bounds::RR_4,
    &unread_sum::RR_5,
    &redelivery::RR_6,
    &offset_after_durable::RR_7,
    &version_rises::RR_8,
    &sync_without_gaps::RR_9,
    &missing_is_unknown::RR_10,
];

/// The invariant of this id.
#[must_use]
pub fn by_id(id: &str) -> Option<&'static Invariant> {
    ALL.into_iter().find(|invariant| invariant.id == id)
}

impl Invariant {
    /// Holds when `held`; else a violation with what was observed.
    fn require(&'static self, held: bool, detail: impl FnOnce() -> String) -> Checked {
        if held { Ok(()) } else { Err(Violation { invariant: self, detail: detail() }) }
    }
}

#[cfg(test)]
mod tests;
