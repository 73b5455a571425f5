//! Waiting for a condition, never for a time.

use std::future::Future;
use std::time::{Duration, Instant};

/// How long a test waits for what should take milliseconds: long, because the machine may be busy, and
/// nothing is gained by giving up early.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// How long nothing may change while much is being applied, on a busy machine, in a debug build.
const STILL: Duration = Duration::from_secs(120);

/// Pause before the first look again; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
/// The pause grows no further: asking must not keep the server from its work, nor a test from its end.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// What moves all the time without an end is an error too.
const LONGEST_MOVE: Duration = Duration::from_secs(900);

/// Asks again until `check` answers `Ok`; fails with what was seen last when `deadline` has passed.
pub async fn wait_until<T, F, Fut>(deadline: Duration, what: &str, check: F) -> T
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, String>>,
{
    wait(Bounds { still: deadline, total: deadline }, what, check).await
}

/// As [`wait_until`] for work whose length is the machine's: fails when what is seen has not changed for [`STILL`].
pub async fn wait_while_moving<T, F, Fut>(what: &str, check: F) -> T
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, String>>,
{
    wait(Bounds { still: STILL, total: LONGEST_MOVE }, what, check).await
}

struct Bounds {
    /// Without a change.
    still: Duration,
    total: Duration,
}

async fn wait<T, F, Fut>(bounds: Bounds, what: &str, mut check: F) -> T
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, String>>,
{
    let started = Instant::now();
    let (mut last, mut changed) = (String::new(), started);
    let mut pause = FIRST_PAUSE;
    loop {
        let seen = match check().await {
            Ok(value) => return value,
            Err(seen) => seen,
        };
        if last != seen {
            (last, changed) = (seen, Instant::now());
        }
        let (waited, still) = (started.elapsed(), changed.elapsed());
        assert!(
            waited < bounds.total && still < bounds.still,
            "waited {waited:.1?} for {what}; for {still:.1?} seen: {last}"
        );
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
