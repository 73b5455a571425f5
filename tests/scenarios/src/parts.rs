//! What servers run on.

use serde::Deserialize;
use std::fmt;

/// A set of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parts {
    /// Log and store in files, the hot state in the process: `readmark up`.
    Embedded,
    /// Kafka, Cassandra and Redis: `readmark serve`.
    Full,
}

impl Parts {
    /// Every set.
    #[must_use]
    pub fn all() -> Vec<Self> {
        vec![Self::Embedded, Self::Full]
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Embedded => "embedded parts",
            Self::Full => "full parts",
        })
    }
}
