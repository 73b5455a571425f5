use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the gateway role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GatewaySettings {
    /// Messages whose senders are remembered (about 200 bytes each).
    pub message_cache_entries: u64,
}

impl Default for GatewaySettings {
    fn default() -> Self {
        Self { message_cache_entries: 100_000 }
    }
}
