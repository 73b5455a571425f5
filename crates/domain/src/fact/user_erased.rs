use crate::id::Uid;
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
