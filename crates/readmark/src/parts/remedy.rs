//! What an operator can do about a part that does not let itself be used.

use crate::config::Config;
use crate::exit::Failure;
use readmark_hot::{HotError, HotErrorKind};
use readmark_log::{LogError, LogErrorKind};
use readmark_store::{StoreError, StoreErrorKind};

/// About the log on Kafka.
pub(crate) const fn of_log(error: &LogError) -> &'static str {
    match error.kind {
        LogErrorKind::Unavailable => {
            "start Kafka, or set log.brokers; where the cluster asks for a login or for TLS, log.security_…"
        }
        LogErrorKind::Refused | LogErrorKind::Corrupt | LogErrorKind::NotOwner => {
            "`readmark doctor` looks at topics and rights"
        }
    }
}

/// About the store on a CQL server.
pub(crate) const fn of_store(error: &StoreError) -> &'static str {
    match error.kind {
        StoreErrorKind::Unavailable => {
            "start ScyllaDB or Cassandra, or set store.contact_points; where the nodes ask for TLS, store.tls_ca_file"
        }
        StoreErrorKind::Refused | StoreErrorKind::Corrupt => {
            "`readmark doctor` looks at login, keyspace and rights"
        }
    }
}

/// About the hot state on Redis.
pub(crate) const fn of_hot(error: &HotError) -> &'static str {
    match error.kind {
        HotErrorKind::Unavailable => "start Redis, or set hot.url",
        HotErrorKind::Refused => {
            "use Redis 7 or later, and look at hot.url, hot.user, hot.password_file and hot.tls_…"
        }
    }
}

/// A start that failed for want of Kafka.
pub(crate) fn log_failure(error: &LogError) -> Failure {
    Failure::failed(format!("{error}; to do: {}", of_log(error)))
}

/// A start that failed for want of the CQL server.
pub(crate) fn store_failure(config: &Config, error: &StoreError) -> Failure {
    let nodes = config.store.contact_points.joined();
    let place =
        if error.detail.contains(&nodes) { String::new() } else { format!(" (contact points: {nodes})") };
    Failure::failed(format!("{error}{place}; to do: {}", of_store(error)))
}

/// A start that failed for want of Redis.
pub(crate) fn hot_failure(error: &HotError) -> Failure {
    Failure::failed(format!("{error}; to do: {}", of_hot(error)))
}
