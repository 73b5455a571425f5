use async_trait::async_trait;
use readmark_domain::time::TimeMs;
use readmark_runtime::clock::Clock;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// When tests begin.
pub const START_MS: u64 = 1_780_000_000_000;

/// The clock of tokio, which tests pause: it jumps when everybody waits.
pub struct TestClock(Instant);

impl Default for TestClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

#[async_trait]
impl Clock for TestClock {
    fn now(&self) -> TimeMs {
        TimeMs::saturating(START_MS + self.elapsed_ms())
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap()
    }

    async fn sleep_ms(&self, ms: u64) {
        sleep(Duration::from_millis(ms)).await;
    }
}
