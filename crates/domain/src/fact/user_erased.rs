use crate::id::Uid;
use crate::register::Switch;
use crate::time::TimeMs;
use serde::{Deserialize, Serialize};

/// A user asked to be forgotten: a last switch to off, then the removal from read arrays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct UserErased {
    /// The user.
    pub uid: Uid,
    /// When.
    pub occurred_at: TimeMs,
}

impl UserErased {
    /// The switch to off that hides the user's receipts, also those that come later.
    #[must_use]
    pub const fn switch(&self) -> Switch<bool> {
        Switch { order: self.occurred_at.as_order(), occurred_at: self.occurred_at, value: false }
    }
}
