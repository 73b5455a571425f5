//! A resolution as a number, whose order is the register's own: what both durable adapters keep.

use readmark_domain::dead_letter::{Actor, Outcome, Resolution};
use readmark_domain::time::TimeMs;

/// Codes of one time.
const CODES: u64 = 8;

const fn code(outcome: Outcome, by: Actor) -> u64 {
    let outcome = match outcome {
        Outcome::Buried => 0,
        Outcome::Redelivered => 1,
        Outcome::Dropped => 2,
    };
    let by = match by {
        Actor::Janitor => 0,
        Actor::Operator => 1,
    };
    2 * outcome + by
}

/// The greater number is the later resolution; at most 4 × 10^15.
pub(crate) const fn to_number(resolution: Resolution) -> u64 {
    resolution.at.get() * CODES + code(resolution.outcome, resolution.by)
}

/// # Errors
/// In words.
pub(crate) fn from_number(number: u64) -> Result<Resolution, &'static str> {
    let at = TimeMs::new(number / CODES).map_err(|_| "a time is out of range")?;
    let (outcome, by) = match number % CODES {
        0 => (Outcome::Buried, Actor::Janitor),
        1 => (Outcome::Buried, Actor::Operator),
        2 => (Outcome::Redelivered, Actor::Janitor),
        3 => (Outcome::Redelivered, Actor::Operator),
        4 => (Outcome::Dropped, Actor::Janitor),
        5 => (Outcome::Dropped, Actor::Operator),
        _ => return Err("a resolution has an unknown outcome"),
    };
    Ok(Resolution { at, outcome, by })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_as_resolutions_do() {
        let mut all = Vec::new();
        for at in [0, 1, 255, 256, TimeMs::MAX] {
            for outcome in [Outcome::Buried, Outcome::Redelivered, Outcome::Dropped] {
                for by in [Actor::Janitor, Actor::Operator] {
                    all.push(Resolution { at: TimeMs::new(at).unwrap(), outcome, by });
                }
            }
        }
        assert!(all.is_sorted() && all.is_sorted_by_key(|resolution| to_number(*resolution)));
        for resolution in all {
            assert_eq!(from_number(to_number(resolution)), Ok(resolution));
        }
        assert!(from_number(6).is_err() && from_number(u64::MAX).is_err());
    }
}
