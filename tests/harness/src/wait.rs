//! Waiting for a condition, never for a time.

use std::future::Future;
use std::time::{Duration, Instant};

/// How long a test waits for what should take milliseconds: long, because the machine may be busy, and
/// nothing is gained by giving up early.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// Asks again until `check` answers `Ok`; fails with what was seen last when `deadline` has passed.
pub async fn wait_until<T, F, Fut>(deadline: Duration, what: &str, mut check: F) -> T
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, String>>,
{
    let started = Instant::now();
    let mut pause = Duration::from_millis(5);
    loop {
        let seen = match check().await {
            Ok(value) => return value,
            Err(seen) => seen,
        };
        assert!(started.elapsed() < deadline, "waited {deadline:?} for {what}; last seen: {seen}");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}
