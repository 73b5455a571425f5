//! How long a server was up, over all its lives.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often a server that is down is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Stands still while the server is down, however long the machine takes to start it again.
#[derive(Default)]
pub struct Uptime {
    lives: Mutex<Lives>,
}

#[derive(Default)]
struct Lives {
    ended: Duration,
    current: Option<Instant>,
}

impl Uptime {
    pub(crate) fn begin(&self) {
        self.lives().current.get_or_insert_with(Instant::now);
    }

    pub(crate) fn end(&self) {
        let mut lives = self.lives();
        if let Some(begun) = lives.current.take() {
            lives.ended += begun.elapsed();
        }
    }

    /// Until now.
    #[must_use]
    pub fn total(&self) -> Duration {
        let lives = self.lives();
        lives.ended + lives.current.map_or(Duration::ZERO, |begun| begun.elapsed())
    }

    /// Waits until it was up for that long.
    pub async fn reach(&self, total: Duration) {
        loop {
            let left = total.saturating_sub(self.total());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.max(LOOK_EVERY)).await;
        }
    }

    fn lives(&self) -> MutexGuard<'_, Lives> {
        self.lives.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
