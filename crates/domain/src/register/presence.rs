use crate::id::numeric::{NumericVisitor, pattern};
use crate::time::Order;
use serde::{Deserialize, Serialize};

/// The order key of a presence: `2 × order`, and one more when absent, so that at a tie leaving wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PresenceKey(u64);

/// The key of a leave of the greatest order: a greater one would win for ever.
const MAX_KEY: u64 = 2 * Order::MAX + 1;

impl Serialize for PresenceKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for PresenceKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumericVisitor { id: "a presence key", min: 0, max: MAX_KEY }).map(Self)
    }
}

impl PresenceKey {
    /// The key of a join (present) or a leave (absent) of this order.
    #[must_use]
    pub const fn new(order: Order, present: bool) -> Self {
        Self(2 * order.get() + if present { 0 } else { 1 })
    }

    /// From a stored key.
    #[must_use]
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    /// The number, at most 10^15 + 1.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Is a member present? The greatest key wins, and the key's parity is the value, so that key and value
/// can never disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Presence(PresenceKey);

impl schemars::JsonSchema for Presence {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Presence".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": ["string", "integer"],
            "pattern": pattern(0),
            "minimum": 0,
            "maximum": MAX_KEY,
            "description": "an order key, twice the order and one more when absent: even is present, odd is absent"
        })
    }
}

impl Presence {
    /// The presence written by a join or leave of this order.
    #[must_use]
    pub const fn new(order: Order, present: bool) -> Self {
        Self(PresenceKey::new(order, present))
    }

    /// From a stored key.
    #[must_use]
    pub const fn from_key(key: PresenceKey) -> Self {
        Self(key)
    }

    /// The order key.
    #[must_use]
    pub const fn key(self) -> PresenceKey {
        self.0
    }

    /// Present?
    #[must_use]
    pub const fn is_present(self) -> bool {
        self.0.get().is_multiple_of(2)
    }

    /// The later of two.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        self.max(other)
    }
}

#[cfg(test)]
mod tests {
    use super::{Presence, PresenceKey};
    use crate::time::Order;

    fn presence(order: u64, present: bool) -> Presence {
        Presence::new(Order::new(order).unwrap(), present)
    }

    /// R4, R15: what two facts about one member come to, in both orders.
    #[test]
    fn the_greatest_order_wins_and_at_a_tie_leaving() {
        for (a, b, present) in [
            (presence(10, true), presence(10, false), false),
            (presence(10, true), presence(11, false), false),
            (presence(11, true), presence(10, false), true),
            (presence(12, true), presence(12, true), true),
            (presence(0, true), presence(0, false), false),
        ] {
            assert_eq!(a.merge(b).is_present(), present, "{a:?} {b:?}");
            assert_eq!(a.merge(b), b.merge(a));
        }
    }

    #[test]
    fn the_greatest_key_is_exact_everywhere() {
        let last = presence(Order::MAX, false);
        assert_eq!(last.key().get(), 1_000_000_000_000_001);
        assert_eq!(Presence::from_key(PresenceKey::from_raw(last.key().get())), last);
        assert!(serde_json::from_str::<Presence>("1000000000000002").is_err(), "would win for ever");
        assert_eq!(serde_json::from_str::<Presence>("1000000000000001").unwrap(), last);
    }
}
