use crate::error::{LogError, LogErrorKind};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};

/// What to do after an error with that code. What is not listed is taken as passing: brokers come back, and an
/// append that is tried again harms nobody. So are topics and partitions that are not known: that they are there was
/// seen at the start, and a broker that comes back answers for a moment before it knows what it has.
#[allow(clippy::wildcard_enum_match_arm, reason = "two hundred codes, most of them of calls never made")]
pub(super) const fn kind_of(code: Code) -> LogErrorKind {
    match code {
        Code::TopicAuthorizationFailed
        | Code::GroupAuthorizationFailed
        | Code::ClusterAuthorizationFailed
        | Code::MessageSizeTooLarge
        | Code::InvalidMessageSize
        | Code::InvalidTopic
        | Code::InvalidRecord
        | Code::PolicyViolation
        | Code::InvalidConfig
        | Code::InvalidReplicationFactor
        | Code::InvalidPartitions
        | Code::InvalidArgument
        | Code::TopicAlreadyExists
        | Code::UnsupportedVersion
        | Code::InvalidSessionTimeout
        | Code::FencedInstanceId => LogErrorKind::Refused,
        Code::BadMessage | Code::BadCompression | Code::InvalidMessage => LogErrorKind::Corrupt,
        Code::UnknownMemberId
        | Code::IllegalGeneration
        | Code::RebalanceInProgress
        | Code::AssignmentLost => LogErrorKind::NotOwner,
        _ => LogErrorKind::Unavailable,
    }
}

/// The code of an error, if it has one.
pub(super) fn code_of(error: &KafkaError) -> Option<Code> {
    if let KafkaError::AdminOp(code) = error { Some(*code) } else { error.rdkafka_error_code() }
}

/// An error of the client library as one of the log.
pub(super) fn log_error(operation: &'static str, error: &KafkaError) -> LogError {
    let kind = match (error, code_of(error)) {
        (KafkaError::ClientConfig(..) | KafkaError::ClientCreation(_) | KafkaError::Nul(_), _) => {
            LogErrorKind::Refused
        }
        (_, Some(code)) => kind_of(code),
        (_, None) => LogErrorKind::Unavailable,
    };
    LogError::new(operation, kind, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_or_forbidden_is_refused() {
        assert_eq!(kind_of(Code::MessageSizeTooLarge), LogErrorKind::Refused);
        assert_eq!(kind_of(Code::TopicAuthorizationFailed), LogErrorKind::Refused);
        assert_eq!(kind_of(Code::MessageTimedOut), LogErrorKind::Unavailable);
        assert_eq!(kind_of(Code::QueueFull), LogErrorKind::Unavailable);
        assert_eq!(kind_of(Code::IllegalGeneration), LogErrorKind::NotOwner);
    }

    #[test]
    fn what_a_broker_does_not_know_yet_is_waited_for() {
        for code in [Code::UnknownTopic, Code::UnknownPartition, Code::UnknownTopicOrPartition] {
            assert_eq!(kind_of(code), LogErrorKind::Unavailable, "{code}");
        }
    }
}
