//! What an error of the client means for who called.

use crate::error::{HotError, HotErrorKind};
use redis::{ErrorKind, RedisError, ServerErrorKind};

/// What to do about a failed command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disposition {
    /// The server does not know the script: send its text.
    SendText,
    /// Try again; it may have taken effect, and a repeat is harmless.
    Repeat,
    /// The server is a replica: try again where the master is.
    FindMaster,
    /// It will be refused again.
    Refuse,
}

/// Codes of servers that can't do it now, and that the client has no name for.
const PASSING_CODES: [&str; 4] = ["OOM", "BUSY", "NOREPLICAS", "MISCONF"];

pub(super) fn disposition(error: &RedisError) -> Disposition {
    match error.kind() {
        ErrorKind::Server(kind) => of_server(kind),
        ErrorKind::Extension if error.code().is_some_and(|code| PASSING_CODES.contains(&code)) => {
            Disposition::Repeat
        }
        ErrorKind::Extension
        | ErrorKind::AuthenticationFailed
        | ErrorKind::InvalidClientConfig
        | ErrorKind::RESP3NotSupported
        | ErrorKind::UnexpectedReturnType
        | ErrorKind::MasterNameNotFoundBySentinel
        | ErrorKind::NoValidReplicasFoundBySentinel
        | ErrorKind::EmptySentinelList => Disposition::Refuse,
        ErrorKind::Io | ErrorKind::Parse | ErrorKind::Client | ErrorKind::ClusterConnectionNotFound => {
            Disposition::Repeat
        }
        // What the client may come to know besides: a repeat that is of no use ends with its bound.
        _ => Disposition::Repeat,
    }
}

fn of_server(kind: ServerErrorKind) -> Disposition {
    match kind {
        ServerErrorKind::NoScript => Disposition::SendText,
        ServerErrorKind::BusyLoading
        | ServerErrorKind::Moved
        | ServerErrorKind::Ask
        | ServerErrorKind::TryAgain
        | ServerErrorKind::ClusterDown
        | ServerErrorKind::MasterDown => Disposition::Repeat,
        ServerErrorKind::ReadOnly => Disposition::FindMaster,
        ServerErrorKind::ResponseError
        | ServerErrorKind::ExecAbort
        | ServerErrorKind::CrossSlot
        | ServerErrorKind::NotBusy
        | ServerErrorKind::NoSub
        | ServerErrorKind::NoPerm => Disposition::Refuse,
        _ => Disposition::Repeat,
    }
}

/// The error for who called.
pub(super) fn hot_error(operation: &'static str, at: impl std::fmt::Display, error: &RedisError) -> HotError {
    let kind = match disposition(error) {
        Disposition::SendText | Disposition::Repeat | Disposition::FindMaster => HotErrorKind::Unavailable,
        Disposition::Refuse => HotErrorKind::Refused,
    };
    HotError::new(operation, at, kind, error)
}

/// An answer that this version can't have been given.
pub(super) fn strange(operation: &'static str, at: impl std::fmt::Display) -> HotError {
    let detail = "the server's answer can't be read; is another version of this program at work on it?";
    HotError::new(operation, at, HotErrorKind::Refused, detail)
}
