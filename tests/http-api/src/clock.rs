use async_trait::async_trait;
use readmark_domain::time::TimeMs;
use readmark_runtime::clock::Clock;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The clock of tokio, which jumps when everybody waits and the test paused it.
pub struct TokioClock {
    start: Instant,
    start_ms: u64,
}

impl TokioClock {
    pub fn starting_at(start_ms: u64) -> Self {
        Self { start: Instant::now(), start_ms }
    }
}

#[async_trait]
impl Clock for TokioClock {
    fn now(&self) -> TimeMs {
        TimeMs::saturating(self.start_ms + self.elapsed_ms())
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap()
    }

    async fn sleep_ms(&self, ms: u64) {
        sleep(Duration::from_millis(ms)).await;
    }
}
