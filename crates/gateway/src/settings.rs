use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the gateway role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GatewaySettings {
    /// Messages whose senders are remembered (about 200 bytes each).
    pub message_cache_entries: u64,
    /// WebSocket connections held at once; more are answered 503. Mind the limit of open files.
    pub max_connections: usize,
    /// WebSocket connections of one user held at once; one more is closed with 4003.
    pub max_connections_per_user: usize,
}

impl Default for GatewaySettings {
    fn default() -> Self {
        Self { message_cache_entries: 100_000, max_connections: 50_000, max_connections_per_user: 16 }
    }
}
