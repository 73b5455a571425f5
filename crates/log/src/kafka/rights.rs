//! What a client must be allowed to do, in the words that Kafka's ACLs have for it.

use crate::error::LogError;
use rdkafka::error::RDKafkaErrorCode as Code;

pub(super) fn on_topic(right: &str, name: &str) -> String {
    format!("the right {right} on the topic {name}")
}

pub(super) fn on_group(right: &str, name: &str) -> String {
    format!("the right {right} on the group {name}")
}

/// Is it for want of a right?
pub(super) const fn is_missing(code: Code) -> bool {
    matches!(
        code,
        Code::TopicAuthorizationFailed | Code::GroupAuthorizationFailed | Code::ClusterAuthorizationFailed
    )
}

/// Adds which right is needed, when it is for want of one.
pub(super) fn explained(mut error: LogError, code: Option<Code>, needs: impl FnOnce() -> String) -> LogError {
    if code.is_some_and(is_missing) {
        error.detail = format!("{}; the client needs {}", error.detail, needs());
    }
    error
}
