use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What kind of failure it was, which decides what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineErrorKind {
    /// The disk is full or failing: try again. A write may have landed; repeating it must be harmless.
    Unavailable,
    /// What is stored can't be read: stop, an operator must look.
    Corrupt,
    /// The job asked for what the engine can't do: a fault of this program.
    Refused,
    /// The engine was closed.
    Closed,
}

/// A failed operation of an engine, with its coordinates.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{operation} on {} failed: {detail}", path.display())]
pub struct EngineError {
    /// What failed.
    pub operation: &'static str,
    /// The engine's file.
    pub path: PathBuf,
    /// What kind.
    pub kind: EngineErrorKind,
    /// In words.
    pub detail: String,
}

impl EngineError {
    /// May the same call succeed when tried again?
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self.kind {
            EngineErrorKind::Unavailable => true,
            EngineErrorKind::Corrupt | EngineErrorKind::Refused | EngineErrorKind::Closed => false,
        }
    }
}

/// Why an engine could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process, or another engine of this one, has the file open.
    #[error("{} is in use by another process", .0.display())]
    InUse(PathBuf),
    /// It is no engine's file, is damaged, or was cut short.
    #[error("{} can't be opened: {detail}; restore it from a copy", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// In words.
        detail: String,
    },
    /// The file or its directory can't be read or written.
    #[error("{} can't be opened: {detail}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// In words.
        detail: String,
    },
}

impl OpenError {
    pub(crate) fn of(path: &Path, error: redb::Error) -> Self {
        let path = path.to_owned();
        if matches!(error, redb::Error::DatabaseAlreadyOpen | redb::Error::LockProtocolMismatch) {
            return Self::InUse(path);
        }
        let failure = Failure::of(error);
        match failure.kind {
            EngineErrorKind::Unavailable => Self::Io { path, detail: failure.detail },
            EngineErrorKind::Corrupt | EngineErrorKind::Refused | EngineErrorKind::Closed => {
                Self::Corrupt { path, detail: failure.detail }
            }
        }
    }

    pub(crate) fn io(path: &Path, error: &std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), detail: error.to_string() }
    }
}

/// Why a job failed. Every error of the engine converts into it, so that jobs can use `?`.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The engine said so.
    #[error(transparent)]
    Engine(Box<redb::Error>),
    /// A value does not agree with its checksum, or can't be decoded.
    #[error("table {table}, key {}: {detail}", hex(key))]
    Damaged {
        /// The table.
        table: &'static str,
        /// The key.
        key: Vec<u8>,
        /// In words.
        detail: &'static str,
    },
}

impl JobError {
    /// A value that can't be decoded.
    #[must_use]
    pub fn damaged(table: &'static str, key: &[u8], detail: &'static str) -> Self {
        Self::Damaged { table, key: key.to_owned(), detail }
    }
}

macro_rules! from_engine {
    ($($error:ty),*) => { $(
        impl From<$error> for JobError {
            fn from(error: $error) -> Self {
                Self::Engine(Box::new(error.into()))
            }
        }
    )* };
}
from_engine!(redb::StorageError, redb::TableError, redb::TransactionError, redb::CommitError);

/// Bytes of a key that an error shows.
const SHOWN_KEY_BYTES: usize = 64;

fn hex(key: &[u8]) -> String {
    use std::fmt::Write;
    key.iter().take(SHOWN_KEY_BYTES).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A failure before it is known whose operation it was.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub kind: EngineErrorKind,
    pub detail: String,
    /// Is the handle spoilt, so that only opening the file again helps?
    pub spoils_handle: bool,
}

impl Failure {
    pub fn of(error: redb::Error) -> Self {
        use EngineErrorKind::{Corrupt, Refused, Unavailable};
        #[allow(clippy::wildcard_enum_match_arm)] // redb's enum is non-exhaustive; what is left are misuses
        let (kind, spoils_handle) = match &error {
            redb::Error::Io(io) => match io.kind() {
                ErrorKind::InvalidData | ErrorKind::UnexpectedEof => (Corrupt, true),
                _ => (Unavailable, true),
            },
            redb::Error::PreviousIo
            | redb::Error::Backend(_)
            | redb::Error::DatabaseClosed
            | redb::Error::LockPoisoned(_) => (Unavailable, true),
            redb::Error::Corrupted(_) | redb::Error::UpgradeRequired(_) | redb::Error::RepairAborted => {
                (Corrupt, false)
            }
            _ => (Refused, false),
        };
        Self { kind, detail: error.to_string(), spoils_handle }
    }

    pub fn of_job(error: JobError) -> Self {
        match error {
            JobError::Engine(error) => Self::of(*error),
            JobError::Damaged { .. } => {
                Self { kind: EngineErrorKind::Corrupt, detail: error.to_string(), spoils_handle: false }
            }
        }
    }

    /// redb panics on some damaged pages instead of returning an error.
    pub fn of_panic(payload: &(dyn std::any::Any + Send)) -> Self {
        let words = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_owned());
        Self {
            kind: EngineErrorKind::Corrupt,
            detail: format!("panicked on what is stored: {words}"),
            spoils_handle: true,
        }
    }

    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self { kind: EngineErrorKind::Unavailable, detail: detail.into(), spoils_handle: false }
    }

    pub fn closed() -> Self {
        Self { kind: EngineErrorKind::Closed, detail: "it is closed".to_owned(), spoils_handle: false }
    }

    pub fn at(self, operation: &'static str, path: &Path) -> EngineError {
        EngineError { operation, path: path.to_owned(), kind: self.kind, detail: self.detail }
    }
}
