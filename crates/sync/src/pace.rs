use std::sync::{Mutex, PoisonError};

/// Turns at an even pace: `per_s` a second for long.
pub(crate) struct Pace {
    interval_us: u64,
    next_us: Mutex<u64>,
}

impl Pace {
    pub fn new(per_s: u32) -> Self {
        Self { interval_us: 1_000_000 / u64::from(per_s.max(1)), next_us: Mutex::new(0) }
    }

    /// Takes the next turn; says how many milliseconds to wait for it, at `now_ms` of a clock that never falls.
    pub fn take(&self, now_ms: u64) -> u64 {
        let now_us = now_ms.saturating_mul(1_000);
        let mut next_us = self.next_us.lock().unwrap_or_else(PoisonError::into_inner);
        let turn_us = now_us.max(*next_us);
        *next_us = turn_us.saturating_add(self.interval_us);
        (turn_us - now_us) / 1_000
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;

    #[test]
    fn turns_come_evenly_and_none_is_saved_up() {
        let pace = Pace::new(100);
        assert_eq!([pace.take(5), pace.take(5), pace.take(5)], [0, 10, 20]);
        assert_eq!(pace.take(30), 5, "the one of 35");
        assert_eq!([pace.take(9_000), pace.take(9_000)], [0, 10]);
        assert_eq!([Pace::new(0).take(0), Pace::new(u32::MAX).take(0)], [0, 0]);
    }
}
