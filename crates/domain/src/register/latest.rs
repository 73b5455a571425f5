use crate::time::Order;
use serde::{Deserialize, Serialize};

/// A flag in which the greatest order wins; at equal orders the greater value (`true`) does, as in a CQL
/// cell, where the bytewise larger value wins a tie of timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
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
