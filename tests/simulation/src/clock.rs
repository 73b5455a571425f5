//! The simulated clock.

use crate::world::{Ready, World};
use async_trait::async_trait;
use readmark_domain::time::TimeMs;
use readmark_runtime::clock::Clock;
use std::sync::Arc;

/// Time that moves when the scheduler says so.
pub struct SimClock(pub Arc<World>);

#[async_trait]
impl Clock for SimClock {
    fn now(&self) -> TimeMs {
        self.0.now()
    }

    fn elapsed_ms(&self) -> u64 {
        self.0.elapsed_ms()
    }

    async fn sleep_ms(&self, ms: u64) {
        self.0.gate(Ready::At(self.0.elapsed_ms() + ms)).await;
    }
}
