use crate::time::Order;
use serde::{Deserialize, Serialize};

/// A flag in which the greatest order wins; at equal orders the greater value (`true`) does, as in a CQL
/// cell, where the bytewise larger value wins a tie of timestamps.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Latest {
    /// Which write is the later one.
    pub order: Order,
    /// The value of that write.
    pub value: bool,
}

impl Latest {
    /// The later of two writes.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        self.max(other)
    }

    /// The value of a register that may never have been written: then `false`.
    #[must_use]
    pub fn value_of(register: Option<Self>) -> bool {
        register.is_some_and(|latest| latest.value)
    }
}

#[cfg(test)]
mod tests {
    use super::Latest;
    use crate::time::Order;

    #[test]
    fn the_greatest_order_wins_and_at_a_tie_true() {
        let latest = |order, value| Latest { order: Order::new(order).unwrap(), value };
        for (a, b, value) in [
            (latest(5, true), latest(6, false), false),
            (latest(6, true), latest(5, false), true),
            (latest(5, true), latest(5, false), true),
            (latest(5, false), latest(5, false), false),
        ] {
            assert_eq!(a.merge(b).value, value, "{a:?} {b:?}");
            assert_eq!(a.merge(b), b.merge(a));
        }
        assert!(!Latest::value_of(None));
        assert!(Latest::value_of(Some(latest(0, true))));
    }
}
