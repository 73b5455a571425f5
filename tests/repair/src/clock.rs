use async_trait::async_trait;
use readmark_domain::time::TimeMs;
use readmark_runtime::clock::Clock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// When the tests begin.
const START_MS: u64 = 1_780_000_000_000;

/// Time that passes when the test says so.
#[derive(Debug, Default)]
pub struct DrivenClock(AtomicU64);

impl DrivenClock {
    /// Lets time pass.
    pub fn advance_ms(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

#[async_trait]
impl Clock for DrivenClock {
    fn now(&self) -> TimeMs {
        TimeMs::saturating(START_MS + self.elapsed_ms())
    }

    fn elapsed_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    /// A short moment of real time: whoever sleeps waits for something that the test will bring about.
    async fn sleep_ms(&self, ms: u64) {
        self.advance_ms(ms);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
