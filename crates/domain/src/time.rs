//! Points in time and orders. The core never reads a clock: times come in as values.

use crate::id::numeric::numeric_id;

/// How far ahead of the clock an `occurred_at` may lie: it becomes the write timestamp of registers, and
/// ScyllaDB refuses timestamps more than three days ahead while Cassandra refuses nothing.
pub const MAX_FUTURE_MS: u64 = 60_000;

/// Greatest order: twice it, plus one, stays within 10^15 and so is exact as a CQL timestamp.
const MAX_ORDER: u64 = 500_000_000_000_000;

numeric_id!(
    /// Milliseconds since 1970; bounded like an order, because it becomes the order of a fact.
    TimeMs, "a time in milliseconds", 0, MAX_ORDER
);

numeric_id!(
    /// What says which of two facts about the same thing is the later one: `occurred_at` in milliseconds,
    /// or the IM's own `version`.
    Order, "an order", 0, MAX_ORDER
);

impl TimeMs {
    /// The start of 1970, which is before everything.
    pub const ZERO: Self = Self(0);

    /// From a clock; beyond the bound it stays at the bound.
    #[must_use]
    pub const fn saturating(ms: u64) -> Self {
        Self(if ms > MAX_ORDER { MAX_ORDER } else { ms })
    }

    /// `self + ms`, saturating.
    #[must_use]
    pub const fn plus_ms(self, ms: u64) -> Self {
        Self::saturating(self.0.saturating_add(ms))
    }

    /// `self - ms`, zero at the least.
    #[must_use]
    pub const fn minus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_sub(ms))
    }

    /// Milliseconds from `earlier` to `self`, zero at the least.
    #[must_use]
    pub const fn since_ms(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Is this more than [`MAX_FUTURE_MS`] ahead of `now`?
    #[must_use]
    pub const fn is_too_far_ahead(self, now: Self) -> bool {
        self.0 > now.0.saturating_add(MAX_FUTURE_MS)
    }

    /// This time as the order of a fact.
    #[must_use]
    pub const fn as_order(self) -> Order {
        Order(self.0)
    }
}

/// Where the order of facts about members, policy and closing comes from: one per installation.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum OrderSource {
    /// `occurred_at` in milliseconds.
    #[default]
    OccurredAt,
    /// `version`, a number the IM raises itself.
    Version,
}

#[cfg(test)]
mod tests {
    use super::TimeMs;

    #[test]
    fn a_minute_ahead_is_the_limit() {
        let now = TimeMs::saturating(1_780_000_000_000);
        assert!(!now.plus_ms(60_000).is_too_far_ahead(now));
        assert!(now.plus_ms(60_001).is_too_far_ahead(now));
        assert!(!now.minus_ms(u64::MAX).is_too_far_ahead(now));
    }

    #[test]
    fn arithmetic_stays_within_the_range() {
        let last = TimeMs::saturating(u64::MAX);
        assert_eq!(last.get(), TimeMs::MAX);
        assert_eq!(last.plus_ms(u64::MAX), last);
        assert_eq!(TimeMs::ZERO.since_ms(last), 0);
    }
}
