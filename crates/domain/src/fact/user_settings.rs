use crate::id::Uid;
use crate::register::Switch;
use crate::time::TimeMs;
use serde::{Deserialize, Serialize};

/// A user switched receipts on or off, everywhere. A deactivated account is a user with receipts off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct UserSettings {
    /// The user.
    pub uid: Uid,
    /// On or off.
    pub receipts: bool,
    /// When; also the order.
    pub occurred_at: TimeMs,
}

impl UserSettings {
    /// As a switch of the user.
    #[must_use]
    pub const fn switch(&self) -> Switch<bool> {
        Switch { order: self.occurred_at.as_order(), occurred_at: self.occurred_at, value: self.receipts }
    }
}
