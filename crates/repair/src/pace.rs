//! A bounded rate: a repair runs beside the live traffic and must leave it room.

use crate::error::RepairError;
use readmark_runtime::clock::Clock;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Batches of one second at the least, so that a rate is kept within a second.
const BATCHES_PER_S: u64 = 10;
/// Records of one append: some hundreds of kilobytes.
const BATCH_RECORDS_MAX: u64 = 500;
const US_PER_S: u64 = 1_000_000;

/// Records per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "u64", try_from = "u64")]
pub struct Rate(u64);

impl Rate {
    /// Greatest rate: more than any log takes.
    pub const MAX: u64 = 1_000_000;

    /// Checks it.
    ///
    /// # Errors
    /// [`RepairError::Usage`] outside 1 to 1,000,000.
    pub fn new(records_per_s: u64) -> Result<Self, RepairError> {
        if (1..=Self::MAX).contains(&records_per_s) {
            Ok(Self(records_per_s))
        } else {
            Err(RepairError::usage(format_args!("a rate is 1 to {} records per second", Self::MAX)))
        }
    }

    /// Records per second.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Records that may be sent in one go.
    pub(crate) fn batch(self) -> usize {
        usize::try_from((self.0 / BATCHES_PER_S).clamp(1, BATCH_RECORDS_MAX)).unwrap_or(1)
    }
}

impl From<Rate> for u64 {
    fn from(rate: Rate) -> Self {
        rate.0
    }
}

impl TryFrom<u64> for Rate {
    type Error = RepairError;

    fn try_from(records_per_s: u64) -> Result<Self, RepairError> {
        Self::new(records_per_s)
    }
}

impl Default for Rate {
    /// A tenth of what one aggregator on a small machine keeps up with.
    fn default() -> Self {
        Self(2_000)
    }
}

/// Keeps a rate.
pub(crate) struct Pace {
    clock: Arc<dyn Clock>,
    rate: Rate,
    /// When the next batch may go, in microseconds of the clock of `elapsed_ms`.
    free_at_us: u64,
}

impl Pace {
    pub fn new(clock: Arc<dyn Clock>, rate: Rate) -> Self {
        Self { clock, rate, free_at_us: 0 }
    }

    /// Waits until so many records may be sent; `false` when it was stopped before.
    pub async fn wait(&mut self, records: usize, stop: &CancellationToken) -> bool {
        let now_us = self.clock.elapsed_ms().saturating_mul(1_000);
        let wait_ms = self.free_at_us.saturating_sub(now_us).div_ceil(1_000);
        // What was not used is lost: after a pause there is no burst.
        self.free_at_us = self.free_at_us.max(now_us).saturating_add(records as u64 * US_PER_S / self.rate.0);
        if wait_ms > 0 {
            tokio::select! {
                () = self.clock.sleep_ms(wait_ms) => {}
                () = stop.cancelled() => {}
            }
        }
        !stop.is_cancelled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;
    use readmark_domain::time::TimeMs;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Passes when somebody sleeps.
    #[derive(Default)]
    struct SleptClock(AtomicU64);

    #[async_trait]
    impl Clock for SleptClock {
        fn now(&self) -> TimeMs {
            TimeMs::saturating(self.elapsed_ms())
        }

        fn elapsed_ms(&self) -> u64 {
            self.0.load(Ordering::SeqCst)
        }

        async fn sleep_ms(&self, ms: u64) {
            self.0.fetch_add(ms, Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn a_rate_is_kept() {
        for rate in [1, 7, 99, 2_000, 1_000_000] {
            let (clock, rate) = (Arc::new(SleptClock::default()), Rate::new(rate).unwrap());
            let mut pace = Pace::new(clock.clone(), rate);
            let (batch, batches) = (rate.batch(), 50);
            for _ in 0..batches {
                assert!(pace.wait(batch, &CancellationToken::new()).await);
            }
            // The last batch has been let go, not waited for.
            let least_ms = (batches as u64 - 1) * batch as u64 * 1_000 / rate.get();
            let took_ms = clock.elapsed_ms();
            assert!((least_ms..=least_ms + batches as u64).contains(&took_ms), "{took_ms} at {rate:?}");
        }
    }

    #[tokio::test]
    async fn a_pause_is_no_credit() {
        let clock = Arc::new(SleptClock::default());
        let mut pace = Pace::new(clock.clone(), Rate::new(10).unwrap());
        pace.wait(1, &CancellationToken::new()).await;
        clock.sleep_ms(60_000).await;
        for _ in 0..3 {
            pace.wait(1, &CancellationToken::new()).await;
        }
        assert_eq!(clock.elapsed_ms(), 60_200);
    }

    #[tokio::test]
    async fn a_stop_ends_the_wait() {
        let stop = CancellationToken::new();
        stop.cancel();
        let mut pace = Pace::new(Arc::new(SleptClock::default()), Rate::default());
        assert!(!pace.wait(1, &stop).await);
    }

    #[test]
    fn rates_have_bounds() {
        assert!(Rate::new(0).is_err() && Rate::new(Rate::MAX + 1).is_err());
        assert_eq!(
            [1, 9, 10, 55, 5_000, Rate::MAX].map(|n| Rate::new(n).unwrap().batch()),
            [1, 1, 1, 5, 500, 500]
        );
    }
}
