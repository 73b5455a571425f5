//! How late a cell may expire.

use crate::row::READERS_OUTLIVE_MESSAGE_MS;
use readmark_domain::time::{MAX_FUTURE_MS, TimeMs};

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// Longest time to live that a server takes, in seconds: 20 years.
pub(super) const TTL_MAX_S: u64 = 630_720_000;

/// The last moment at which a cell may expire on Apache Cassandra, unless that is run with `storage_compatibility_mode:
/// NONE`: 19 January 2038, 03:14:06 UTC. It refuses writes that expire later. ScyllaDB has no such bound.
pub const LATEST_EXPIRY: TimeMs = TimeMs::saturating(2_147_483_646_000);

/// For how many days receipts may be kept, so that every server takes what is written now and tomorrow. It shrinks from
/// 2018 on, when 20 years began to reach beyond [`LATEST_EXPIRY`].
#[must_use]
pub const fn expire_days_max(now: TimeMs) -> u64 {
    let slack_ms = MAX_FUTURE_MS + READERS_OUTLIVE_MESSAGE_MS + DAY_MS;
    let until_last = LATEST_EXPIRY.minus_ms(slack_ms).since_ms(now) / DAY_MS;
    let of_ttl = TTL_MAX_S * 1_000 / DAY_MS;
    if until_last < of_ttl { until_last } else { of_ttl }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_end_before_the_last_second() {
        let at = |ms: u64| TimeMs::new(ms).unwrap();
        assert_eq!(expire_days_max(TimeMs::ZERO), 7_300);
        // The beginning of 2026.
        let now = at(1_767_225_600_000);
        let days = expire_days_max(now);
        assert_eq!(days, 4_400);
        assert!(now.plus_ms(days * DAY_MS) < LATEST_EXPIRY);
        assert_eq!(expire_days_max(LATEST_EXPIRY), 0);
        assert_eq!(expire_days_max(LATEST_EXPIRY.plus_ms(DAY_MS)), 0);
    }
}
