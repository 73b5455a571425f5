//! Settings that the binary's configuration embeds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where the keys of tokens are. Read once, at start.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AuthSettings {
    /// A file with the secret of HS256 tokens.
    pub secret_file: Option<PathBuf>,
    /// A file with a JSON Web Key Set: public keys of RS256, ES256 and EdDSA tokens.
    pub jwks_file: Option<PathBuf>,
}

/// Limits of the HTTP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HttpSettings {
    /// Origins that browsers may call from, as in `https://chat.example`. None by default.
    pub allowed_origins: Vec<String>,
    /// Requests handled at once; more are answered 503 instead of queueing.
    pub max_in_flight: usize,
    /// Connections held at once; more wait in the kernel's backlog.
    pub max_connections: usize,
    /// A request that takes longer is answered 503. Longer than the waits inside (5 s for the log, 2 s each
    /// to be sure and to be applied).
    pub request_timeout_ms: u64,
    /// Requests a second that one user may make for long.
    pub user_requests_per_s: u32,
    /// Requests that one user may make at once.
    pub user_burst: u32,
    /// How long requests in flight may take after the signal to stop.
    pub drain_ms: u64,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            allowed_origins: Vec::new(),
            max_in_flight: 1_024,
            max_connections: 16_384,
            request_timeout_ms: 15_000,
            user_requests_per_s: 500,
            user_burst: 1_000,
            drain_ms: 10_000,
        }
    }
}
