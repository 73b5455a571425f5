use readmark_domain::time::TimeMs;
use readmark_embedded::{EngineError, EngineOptions, OpenError};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Bytes of a record at most, key, headers and payload together: four times what readmark itself writes.
pub const RECORD_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of a key at most.
pub const KEY_BYTES_MAX: usize = 4096;

/// Records in one write at most; a longer append is several writes.
pub const WRITE_RECORDS_MAX: usize = 1000;

/// Bytes in one write at most, but for a single larger record.
pub const WRITE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Bytes of all appends that are on their way at most; who comes then waits. Bounds a commit, too.
pub const APPENDING_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Records handed over at once at most.
pub const POLL_RECORDS_MAX: usize = 500;

/// Bytes handed over at once at most, but for a single larger record.
pub const POLL_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Partitions a topic may have.
pub const PARTITIONS_MAX: u32 = 64;

/// Records removed in one commit at most, so that appends need not wait long for it.
pub const TRIM_RECORDS_MAX: usize = 1000;

/// Tells the time of day.
pub type Now = Arc<dyn Fn() -> TimeMs + Send + Sync>;

/// How an embedded log is opened.
#[derive(Clone)]
pub struct EmbeddedLogOptions {
    /// Partitions of every topic, 1 to 64. Fixed when the log is created.
    pub partitions: u32,
    /// How long a member may keep what it was asked to give back, until it is taken.
    pub revoke_within: Duration,
    /// The engine's own.
    pub engine: EngineOptions,
    /// When a record is appended; may jump, the times in a partition never fall.
    pub now: Now,
}

impl Default for EmbeddedLogOptions {
    fn default() -> Self {
        Self {
            partitions: 4,
            revoke_within: Duration::from_secs(10),
            engine: EngineOptions::default(),
            now: Arc::new(system_time),
        }
    }
}

impl std::fmt::Debug for EmbeddedLogOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EmbeddedLogOptions")
            .field("partitions", &self.partitions)
            .field("revoke_within", &self.revoke_within)
            .field("engine", &self.engine)
            .finish_non_exhaustive()
    }
}

fn system_time() -> TimeMs {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    TimeMs::saturating(u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX))
}

/// Why an embedded log could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenLogError {
    /// The file.
    #[error(transparent)]
    File(#[from] OpenError),
    /// What is in it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// It was created with another number of partitions.
    #[error(
        "the event log {} was created with {stored} partitions a topic and can't be opened with {asked}: the \
         number decides where every key lies and is fixed", path.display()
    )]
    PartitionCount {
        /// The file.
        path: PathBuf,
        /// The number in it.
        stored: u32,
        /// The number asked for.
        asked: u32,
    },
    /// Out of bounds.
    #[error("a topic has 1 to {PARTITIONS_MAX} partitions, not {0}")]
    Partitions(u32),
}
