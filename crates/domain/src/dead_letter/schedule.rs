use crate::time::TimeMs;

/// How often a record is delivered again before it is buried. With the pauses below that is a working day: an IM
/// that sends a message's event later than that needs a person.
pub const MAX_REDELIVERIES: u32 = 10;

/// Before the first redelivery: most causes are a part that was restarted.
const FIRST_PAUSE_MS: u64 = 60_000;
/// Before the second one.
const SECOND_PAUSE_MS: u64 = 600_000;
/// Before each later one: cheap enough for records that never heal, soon enough for those that do.
const LATER_PAUSE_MS: u64 = 3_600_000;

/// A record's newest failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// How often the record was tried, this time included; 1 at the first failure.
    pub attempts: u32,
    /// When it failed.
    pub failed_at: TimeMs,
    /// May another attempt succeed at all?
    pub may_heal: bool,
}

/// What is to be done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Deliver it again at this time.
    RedeliverAt(TimeMs),
    /// Give it up, and tell.
    Bury,
}

/// The next step after a failure.
#[must_use]
pub const fn next_step(failure: Failure) -> Step {
    // The first attempt was no redelivery.
    let redeliveries = failure.attempts.saturating_sub(1);
    if !failure.may_heal || redeliveries >= MAX_REDELIVERIES {
        return Step::Bury;
    }
    let pause_ms = match redeliveries {
        0 => FIRST_PAUSE_MS,
        1 => SECOND_PAUSE_MS,
        _ => LATER_PAUSE_MS,
    };
    Step::RedeliverAt(failure.failed_at.plus_ms(pause_ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(attempts: u32, failed_at: u64) -> Step {
        next_step(Failure { attempts, failed_at: TimeMs::saturating(failed_at), may_heal: true })
    }

    #[test]
    fn a_minute_ten_minutes_then_hourly_ten_times_in_all() {
        let minutes = |n: u64| Step::RedeliverAt(TimeMs::saturating(5_000 + n * 60_000));
        assert_eq!(at(1, 5_000), minutes(1));
        assert_eq!(at(2, 5_000), minutes(10));
        for attempts in 3..=10 {
            assert_eq!(at(attempts, 5_000), minutes(60), "after {attempts} attempts");
        }
        assert_eq!(at(11, 5_000), Step::Bury);
        // What somebody else wrote into the header.
        assert_eq!(at(0, 5_000), minutes(1));
    }

    #[test]
    fn what_cannot_heal_is_buried_at_once() {
        let failure = Failure { attempts: 1, failed_at: TimeMs::ZERO, may_heal: false };
        assert_eq!(next_step(failure), Step::Bury);
    }

    proptest! {
        /// A chain of failures ends, whatever it begins with.
        #[test]
        fn every_chain_ends(first in any::<u32>(), start in 0..1_000_000_u64) {
            let (mut attempts, mut now, mut redelivered) = (first, start, 0);
            while let Step::RedeliverAt(due) = at(attempts, now) {
                prop_assert!(due.get() > now, "it waits");
                (attempts, now) = (attempts.saturating_add(1), due.get());
                redelivered += 1;
                prop_assert!(redelivered <= MAX_REDELIVERIES + 1);
            }
        }
    }
}
