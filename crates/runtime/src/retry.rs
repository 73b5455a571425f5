//! The one retry loop: a consumer waits for a part that is away, it never gives up a record for it.

use crate::clock::Clock;
use readmark_hot::HotError;
use readmark_log::LogError;
use readmark_store::StoreError;
use std::fmt::Display;
use std::sync::Arc;

/// First pause; a passing hiccup costs no more than this.
const FIRST_PAUSE_MS: u64 = 20;
/// Longest pause: once a part is back, work goes on within this time.
const LONGEST_PAUSE_MS: u64 = 2_000;
/// From this attempt on the log line is a warning: the first failures heal by themselves most of the time.
const WARN_FROM_ATTEMPT: u32 = 3;

/// An error that knows whether trying again can help.
pub trait Retryable: Display {
    /// May the same call succeed when tried again?
    fn is_retryable(&self) -> bool;
}

impl Retryable for StoreError {
    fn is_retryable(&self) -> bool {
        Self::is_retryable(self)
    }
}

impl Retryable for LogError {
    fn is_retryable(&self) -> bool {
        Self::is_retryable(self)
    }
}

impl Retryable for HotError {
    fn is_retryable(&self) -> bool {
        Self::is_retryable(self)
    }
}

/// How long to pause before attempt `attempt + 1`, in milliseconds: doubling, bounded.
#[must_use]
pub const fn pause_ms(attempt: u32) -> u64 {
    let doubled = FIRST_PAUSE_MS.saturating_mul(1 << if attempt < 16 { attempt } else { 16 });
    if doubled < LONGEST_PAUSE_MS { doubled } else { LONGEST_PAUSE_MS }
}

/// Calls again while the error is retryable. Of a role it ends only by success, by an error that no repetition heals,
/// or by being dropped: every step of every role may be repeated, so dropping is always safe.
#[derive(Clone)]
pub struct Retrier {
    clock: Arc<dyn Clock>,
    role: &'static str,
    give_up_after_ms: Option<u64>,
}

impl Retrier {
    /// For a role, which is named in log lines.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, role: &'static str) -> Self {
        Self { clock, role, give_up_after_ms: None }
    }

    /// For a command, which somebody waits for: it gives up when a call has failed for so long.
    #[must_use]
    pub fn giving_up_after_ms(self, ms: u64) -> Self {
        Self { give_up_after_ms: Some(ms), ..self }
    }

    /// Runs `call` until it succeeds.
    ///
    /// # Errors
    /// The first error that is not retryable, or the last one before giving up.
    pub async fn run<T, E, F, Fut>(&self, mut call: F) -> Result<T, E>
    where
        E: Retryable,
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        let mut attempt = 0;
        let mut failing_since_ms = None;
        loop {
            match call().await {
                Err(error) if error.is_retryable() => {
                    let now_ms = self.clock.elapsed_ms();
                    let failing_ms = now_ms.saturating_sub(*failing_since_ms.get_or_insert(now_ms));
                    if self.give_up_after_ms.is_some_and(|limit_ms| failing_ms >= limit_ms) {
                        return Err(error);
                    }
                    let pause = pause_ms(attempt);
                    if attempt >= WARN_FROM_ATTEMPT {
                        tracing::warn!(role = self.role, attempt, pause_ms = pause, %error, "waiting for a part");
                    } else {
                        tracing::debug!(role = self.role, attempt, pause_ms = pause, %error, "trying again");
                    }
                    self.clock.sleep_ms(pause).await;
                    attempt = attempt.saturating_add(1);
                }
                done => return done,
            }
        }
    }
}
