//! Limits that answer at once instead of letting queues grow.

use crate::problem::{Kind, Problem};
use readmark_domain::id::Uid;
use readmark_runtime::clock::Clock;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Users remembered; one forgotten starts with a full allowance.
const MAX_USERS: usize = 100_000;

/// How often one user may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimit {
    /// Requests a second, for long.
    pub per_s: u32,
    /// Requests at once.
    pub burst: u32,
}

/// Allowances of users: each refills at the rate, up to the burst.
pub struct Limiter {
    limit: RateLimit,
    users: Mutex<HashMap<Uid, Held>>,
}

/// In thousandths of a request, so that a millisecond refills a whole number.
#[derive(Clone, Copy)]
struct Held {
    left: u64,
    at_ms: u64,
}

impl Limiter {
    /// With full allowances.
    #[must_use]
    pub fn new(limit: RateLimit) -> Self {
        Self { limit, users: Mutex::new(HashMap::new()) }
    }

    /// Takes one request out of a user's allowance at `now_ms` (of a clock that never falls).
    ///
    /// # Errors
    /// Seconds after which there is one again, at least 1.
    pub fn take(&self, uid: Uid, now_ms: u64) -> Result<(), u32> {
        let (per_s, full) = (u64::from(self.limit.per_s).max(1), u64::from(self.limit.burst).max(1) * 1_000);
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if users.len() >= MAX_USERS && !users.contains_key(&uid) {
            let refilled = |held: &Held| now_ms.saturating_sub(held.at_ms).saturating_mul(per_s);
            users.retain(|_, held| held.left.saturating_add(refilled(held)) < full);
            // Half of the room, so that the next sweep is far away.
            if users.len() > MAX_USERS / 2 {
                users.clear();
            }
        }
        let held = users.entry(uid).or_insert(Held { left: full, at_ms: now_ms });
        held.left = (held.left + now_ms.saturating_sub(held.at_ms).saturating_mul(per_s)).min(full);
        held.at_ms = held.at_ms.max(now_ms);
        if let Some(left) = held.left.checked_sub(1_000) {
            held.left = left;
            return Ok(());
        }
        let missing_ms = (1_000 - held.left).div_ceil(per_s);
        Err(u32::try_from(missing_ms.div_ceil(1_000)).unwrap_or(u32::MAX).max(1))
    }
}

/// The allowance of a request's user, for what goes on after the request: each message of a connection takes one.
#[derive(Clone)]
pub struct Allowance {
    pub(crate) limiter: Arc<Limiter>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) uid: Uid,
}

impl Allowance {
    /// Takes one.
    ///
    /// # Errors
    /// 429 when there is none left.
    pub fn take(&self) -> Result<(), Problem> {
        self.limiter.take(self.uid, self.clock.elapsed_ms()).map_err(|seconds| {
            Problem::new(Kind::RateLimited, "this user calls too often").retry_after_s(seconds)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uid(n: u64) -> Uid {
        Uid::new(n).expect("a uid")
    }

    #[test]
    fn a_burst_is_allowed_then_the_rate() {
        let limiter = Limiter::new(RateLimit { per_s: 2, burst: 3 });
        for _ in 0..3 {
            assert_eq!(limiter.take(uid(1), 1_000), Ok(()));
        }
        assert_eq!(limiter.take(uid(1), 1_000), Err(1));
        assert_eq!(limiter.take(uid(2), 1_000), Ok(()), "another user has its own allowance");
        assert_eq!(limiter.take(uid(1), 1_499), Err(1));
        assert_eq!(limiter.take(uid(1), 1_500), Ok(()));
        assert_eq!(limiter.take(uid(1), 1_500), Err(1));
    }

    #[test]
    fn the_table_is_bounded() {
        let limiter = Limiter::new(RateLimit { per_s: 1, burst: 1 });
        for n in 0..(MAX_USERS as u64 + 10) {
            assert_eq!(limiter.take(uid(n), 0), Ok(()));
        }
        assert!(limiter.users.lock().expect("not poisoned").len() <= MAX_USERS);
    }
}
