//! From the driver's errors to the port's: one exhaustive match for each level, since each kind is a
//! disposition of its caller.

use crate::error::{StoreError, StoreErrorKind};
use readmark_domain::id::{ConversationId, Uid};
use scylla::errors::{
    BadQuery, ConnectionError, ConnectionPoolError, ConnectionSetupRequestErrorKind, DbError, ExecutionError,
    MetadataError, NewSessionError, PrepareError, RequestAttemptError, SchemaAgreementError,
    UseKeyspaceError,
};
use std::fmt::{Display, Formatter};

use StoreErrorKind::{Corrupt, Refused, Unavailable};

/// What is being done, and to which partition. Put into words only when it fails.
#[derive(Debug, Clone, Copy)]
pub(super) struct At<'a> {
    pub operation: &'static str,
    pub table: &'static str,
    pub key: Key<'a>,
}

/// A partition.
#[derive(Debug, Clone, Copy)]
pub(super) enum Key<'a> {
    Conversation(&'a ConversationId),
    Bucket(&'a ConversationId, u64),
    User(Uid),
    UserConversation(Uid, &'a ConversationId),
    /// Dead letters: partition of the topic, block of offsets.
    Letters(u32, u64),
    Keyspace(&'a str),
}

impl Display for At<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ", self.table)?;
        match self.key {
            Key::Conversation(id) => write!(f, "{id}"),
            Key::Bucket(id, bucket) => write!(f, "{id} bucket {bucket}"),
            Key::User(uid) => write!(f, "{uid}"),
            Key::UserConversation(uid, id) => write!(f, "{uid} {id}"),
            Key::Letters(partition, block) => write!(f, "{partition} block {block}"),
            Key::Keyspace(name) => write!(f, "of keyspace {name}"),
        }
    }
}

impl<'a> At<'a> {
    pub const fn new(operation: &'static str, table: &'static str, key: Key<'a>) -> Self {
        Self { operation, table, key }
    }

    /// A request failed.
    pub fn failed(self, error: &ExecutionError) -> StoreError {
        self.error(kind_of_execution(error), error)
    }

    /// A request failed before anything is served: a right that is missing is then said, not waited for.
    pub fn failed_at_start(self, error: &ExecutionError) -> StoreError {
        let is_forbidden = matches!(
            error,
            ExecutionError::LastAttemptError(RequestAttemptError::DbError(DbError::Unauthorized, _))
        );
        let kind = if is_forbidden { Refused } else { kind_of_execution(error) };
        self.error(kind, error)
    }

    /// What was read can't be understood.
    pub fn corrupt(self, fault: impl Display) -> StoreError {
        self.error(Corrupt, fault)
    }

    pub fn error(self, kind: StoreErrorKind, detail: impl Display) -> StoreError {
        StoreError::new(self.operation, self, kind, detail)
    }
}

fn kind_of_execution(error: &ExecutionError) -> StoreErrorKind {
    match error {
        ExecutionError::LastAttemptError(error) => kind_of_attempt(error),
        ExecutionError::PrepareError(error) => kind_of_prepare(error),
        ExecutionError::ConnectionPoolError(error) => kind_of_pool(error),
        ExecutionError::EmptyPlan | ExecutionError::RequestTimeout(_) => Unavailable,
        ExecutionError::SchemaAgreementError(error) => kind_of_agreement(error),
        ExecutionError::MetadataError(error) => kind_of_metadata(error),
        ExecutionError::BadQuery(error) => kind_of_bad_query(error),
        ExecutionError::UseKeyspaceError(error) => kind_of_use(error),
        // The driver may learn new ones: waiting is the harmless answer to what is not known.
        _ => Unavailable,
    }
}

/// Values that can't be sent will never be.
fn kind_of_bad_query(error: &BadQuery) -> StoreErrorKind {
    match error {
        BadQuery::PartitionKeyExtraction
        | BadQuery::SerializationError(_)
        | BadQuery::ValuesTooLongForKey(..)
        | BadQuery::TooManyQueriesInBatchStatement(_)
        | _ => Refused,
    }
}

pub(super) fn kind_of_prepare(error: &PrepareError) -> StoreErrorKind {
    match error {
        PrepareError::ConnectionPoolError(error) => kind_of_pool(error),
        PrepareError::AllAttemptsFailed { first_attempt } => kind_of_attempt(first_attempt),
        PrepareError::PreparedStatementIdsMismatch | _ => Unavailable,
    }
}

fn kind_of_use(error: &UseKeyspaceError) -> StoreErrorKind {
    match error {
        UseKeyspaceError::RequestError(error) => kind_of_attempt(error),
        UseKeyspaceError::RequestTimeout(_) => Unavailable,
        UseKeyspaceError::BadKeyspaceName(_) | UseKeyspaceError::KeyspaceNameMismatch { .. } | _ => Refused,
    }
}

pub(super) fn kind_of_agreement(error: &SchemaAgreementError) -> StoreErrorKind {
    match error {
        SchemaAgreementError::ConnectionPoolError(error) => kind_of_pool(error),
        SchemaAgreementError::PrepareError(error) => kind_of_prepare(error),
        SchemaAgreementError::RequestError(error) => kind_of_attempt(error),
        SchemaAgreementError::TracesEventsIntoRowsResultError(_)
        | SchemaAgreementError::SingleRowError(_)
        | SchemaAgreementError::Timeout(_)
        | SchemaAgreementError::RequiredHostAbsent(_)
        | _ => Unavailable,
    }
}

fn kind_of_metadata(error: &MetadataError) -> StoreErrorKind {
    match error {
        MetadataError::ConnectionPoolError(error) => kind_of_pool(error),
        MetadataError::FetchError(_)
        | MetadataError::Peers(_)
        | MetadataError::Keyspaces(_)
        | MetadataError::Udts(_)
        | MetadataError::Tables(_)
        | MetadataError::ClientRoutes(_)
        | _ => Unavailable,
    }
}

/// A server that knows us and lets us not in will not change its mind; all else may pass.
fn kind_of_pool(error: &ConnectionPoolError) -> StoreErrorKind {
    let ConnectionPoolError::Broken { last_connection_error } = error else { return Unavailable };
    let ConnectionError::ConnectionSetupRequestError(error) = last_connection_error else {
        return Unavailable;
    };
    match &error.error {
        ConnectionSetupRequestErrorKind::MissingAuthentication
        | ConnectionSetupRequestErrorKind::StartAuthSessionError(_)
        | ConnectionSetupRequestErrorKind::AuthChallengeEvaluationError(_)
        | ConnectionSetupRequestErrorKind::AuthFinishError(_)
        | ConnectionSetupRequestErrorKind::DbError(DbError::AuthenticationError | DbError::Unauthorized, _) => {
            Refused
        }
        ConnectionSetupRequestErrorKind::DbError(..)
        | ConnectionSetupRequestErrorKind::CqlRequestSerialization(_)
        | ConnectionSetupRequestErrorKind::BodyExtensionsParseError(_)
        | ConnectionSetupRequestErrorKind::UnableToAllocStreamId
        | ConnectionSetupRequestErrorKind::BrokenConnection(_)
        | ConnectionSetupRequestErrorKind::UnexpectedResponse(_)
        | ConnectionSetupRequestErrorKind::CqlSupportedParseError(_)
        | ConnectionSetupRequestErrorKind::CqlAuthenticateParseError(_)
        | ConnectionSetupRequestErrorKind::CqlAuthSuccessParseError(_)
        | ConnectionSetupRequestErrorKind::CqlAuthChallengeParseError(_)
        | ConnectionSetupRequestErrorKind::CqlErrorParseError(_)
        | _ => Unavailable,
    }
}

/// Of opening a session.
pub(super) fn kind_of_session(error: &NewSessionError) -> StoreErrorKind {
    match error {
        NewSessionError::MetadataError(error) => kind_of_metadata(error),
        NewSessionError::UseKeyspaceError(error) => kind_of_use(error),
        NewSessionError::FailedToResolveAnyHostname(_) => Unavailable,
        NewSessionError::EmptyKnownNodesList | NewSessionError::IllegalConfig(_) => Refused,
        _ => Unavailable,
    }
}

fn kind_of_attempt(error: &RequestAttemptError) -> StoreErrorKind {
    match error {
        RequestAttemptError::DbError(error, _) => kind_of_answer(error),
        RequestAttemptError::BrokenConnectionError(_)
        | RequestAttemptError::UnableToAllocStreamId
        | RequestAttemptError::RepreparedIdMissingInBatch
        | RequestAttemptError::UnexpectedResponse(_) => Unavailable,
        // A statement or table changed under us: prepared anew after a restart, it fits again.
        RequestAttemptError::RepreparedIdChanged { .. }
        | RequestAttemptError::SerializationError(_)
        | RequestAttemptError::CqlRequestSerialization(_) => Refused,
        RequestAttemptError::BodyExtensionsParseError(_)
        | RequestAttemptError::CqlResultParseError(_)
        | RequestAttemptError::CqlErrorParseError(_)
        | RequestAttemptError::NonfinishedPagingState => Corrupt,
        _ => Unavailable,
    }
}

fn kind_of_answer(error: &DbError) -> StoreErrorKind {
    match error {
        DbError::Unavailable { .. }
        | DbError::Overloaded
        | DbError::IsBootstrapping
        | DbError::TruncateError
        | DbError::ReadTimeout { .. }
        | DbError::WriteTimeout { .. }
        | DbError::ReadFailure { .. }
        | DbError::WriteFailure { .. }
        | DbError::Unprepared { .. }
        | DbError::ServerError
        | DbError::RateLimitReached { .. }
        // A right that was taken away may come back, and no record is to be buried for it.
        | DbError::Unauthorized => Unavailable,
        DbError::SyntaxError
        | DbError::Invalid
        | DbError::AlreadyExists { .. }
        | DbError::FunctionFailure { .. }
        | DbError::AuthenticationError
        | DbError::ConfigError
        | DbError::ProtocolError => Refused,
        DbError::Other(_) | _ => Unavailable,
    }
}

#[cfg(test)]
mod tests {
    use super::{At, Key, StoreErrorKind};
    use readmark_domain::id::{ConversationId, Uid};
    use scylla::errors::{DbError, ExecutionError, RequestAttemptError};
    use std::time::Duration;

    #[test]
    fn each_answer_has_its_kind() {
        use StoreErrorKind::{Refused, Unavailable};
        for (answer, kind) in [
            (DbError::Overloaded, Unavailable),
            (DbError::IsBootstrapping, Unavailable),
            (DbError::ServerError, Unavailable),
            (DbError::Invalid, Refused),
            (DbError::SyntaxError, Refused),
            (DbError::Unauthorized, Unavailable),
            (DbError::Other(7), Unavailable),
        ] {
            let error = RequestAttemptError::DbError(answer, "said so".to_owned());
            let id = ConversationId::new("c").unwrap();
            let at = At::new("raise the head", "conversations", Key::Conversation(&id));
            let error = at.failed(&ExecutionError::LastAttemptError(error));
            assert_eq!(error.kind, kind, "{error}");
            assert!(
                error.to_string().starts_with("store: raise the head failed at conversations c: "),
                "{error}"
            );
            assert!(error.to_string().contains("said so"), "{error}");
        }
        let at = At::new("read", "user_settings", Key::User(Uid::new(7).unwrap()));
        let error = at.failed(&ExecutionError::RequestTimeout(Duration::from_millis(5)));
        assert!(error.is_retryable(), "{error}");
    }
}
