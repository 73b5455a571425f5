//! Time, as a port: roles ask it, tests and the simulation turn it.

use async_trait::async_trait;
use readmark_domain::time::TimeMs;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A clock.
#[async_trait]
pub trait Clock: Send + Sync + 'static {
    /// The time of day: for facts and expiry. May jump.
    fn now(&self) -> TimeMs;

    /// Milliseconds since some start: for windows, ages and deadlines. Never falls.
    fn elapsed_ms(&self) -> u64;

    /// Waits.
    async fn sleep_ms(&self, ms: u64);
}

/// The machine's clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self { start: Instant::now() }
    }
}

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> TimeMs {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        TimeMs::saturating(u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX))
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    async fn sleep_ms(&self, ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}
