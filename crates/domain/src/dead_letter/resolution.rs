use crate::time::TimeMs;
use serde::{Deserialize, Serialize};

/// What was done about a dead letter. At equal times the later one of this list wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Given up: an operator must look at it.
    Buried,
    /// Delivered again. Should it fail again, that is a letter of its own.
    Redelivered,
    /// An operator has decided that it is to be left alone.
    Dropped,
}

/// Who did it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// The janitor, by its schedule.
    Janitor,
    /// Somebody, by a command.
    Operator,
}

/// The register of a dead letter: what was done last. The latest time wins, then outcome and actor, so that two
/// writers always agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Resolution {
    /// When; also the order of the register.
    pub at: TimeMs,
    /// What was done.
    pub outcome: Outcome,
    /// Who did it.
    pub by: Actor,
}

/// Where a dead letter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LetterState {
    /// The janitor will deliver it again.
    Open,
    /// It was delivered again.
    Redelivered,
    /// It is to be left alone.
    Dropped,
    /// The janitor has given it up.
    Buried,
}

impl Resolution {
    /// A resolution that wins against the known one of the same letter, and is not older than the letter, whatever
    /// the clocks say.
    #[must_use]
    pub fn after(known: Option<Self>, failed_at: TimeMs, now: TimeMs, outcome: Outcome, by: Actor) -> Self {
        let after_known = known.map_or(TimeMs::ZERO, |known| known.at.plus_ms(1));
        Self { at: now.max(failed_at).max(after_known), outcome, by }
    }

    /// The later of two.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        self.max(other)
    }

    /// Of a letter that failed then? An older resolution is of another letter, which lay at the same place before the
    /// topic was made anew.
    #[must_use]
    pub fn is_of(&self, failed_at: TimeMs) -> bool {
        self.at >= failed_at
    }
}

impl LetterState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Open, Self::Redelivered, Self::Dropped, Self::Buried];

    /// By what is known of a letter that failed then.
    #[must_use]
    pub fn of(known: Option<Resolution>, failed_at: TimeMs) -> Self {
        match known.filter(|known| known.is_of(failed_at)).map(|known| known.outcome) {
            None => Self::Open,
            Some(Outcome::Redelivered) => Self::Redelivered,
            Some(Outcome::Dropped) => Self::Dropped,
            Some(Outcome::Buried) => Self::Buried,
        }
    }

    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Redelivered => "redelivered",
            Self::Dropped => "dropped",
            Self::Buried => "buried",
        }
    }

    /// Does somebody still have to do something?
    #[must_use]
    pub const fn is_unsettled(self) -> bool {
        match self {
            Self::Open | Self::Buried => true,
            Self::Redelivered | Self::Dropped => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn resolution() -> impl Strategy<Value = Resolution> {
        let outcome = prop_oneof![Just(Outcome::Buried), Just(Outcome::Redelivered), Just(Outcome::Dropped)];
        let by = prop_oneof![Just(Actor::Janitor), Just(Actor::Operator)];
        (0..4_u64, outcome, by).prop_map(|(at, outcome, by)| Resolution {
            at: TimeMs::saturating(at),
            outcome,
            by,
        })
    }

    proptest! {
        #[test]
        fn merging_is_commutative_associative_and_idempotent(a in resolution(), b in resolution(), c in resolution()) {
            prop_assert_eq!(a.merge(b), b.merge(a));
            prop_assert_eq!(a.merge(b).merge(c), a.merge(b.merge(c)));
            prop_assert_eq!(a.merge(a), a);
        }

        #[test]
        fn what_is_decided_later_wins_whatever_the_clock(
            known in proptest::option::of(resolution()), failed_at in 0..6_u64, now in 0..6_u64,
        ) {
            let failed_at = TimeMs::saturating(failed_at);
            let now = TimeMs::saturating(now);
            let next = Resolution::after(known, failed_at, now, Outcome::Buried, Actor::Janitor);
            prop_assert_eq!(known.map_or(next, |known| known.merge(next)), next);
            prop_assert_eq!(LetterState::of(Some(next), failed_at), LetterState::Buried);
        }
    }

    #[test]
    fn a_resolution_from_before_the_letter_is_of_another_one() {
        let old = Resolution { at: TimeMs::saturating(9), outcome: Outcome::Dropped, by: Actor::Operator };
        assert_eq!(LetterState::of(Some(old), TimeMs::saturating(9)), LetterState::Dropped);
        assert_eq!(LetterState::of(Some(old), TimeMs::saturating(10)), LetterState::Open);
        assert_eq!(LetterState::of(None, TimeMs::ZERO), LetterState::Open);
    }
}
