//! The embedded engine under readmark's log and store, and the directory they live in.
//!
//! An [`Engine`] is one redb file with a writer of its own that gathers what is waiting into one durable
//! commit. [`SealedTable`] keeps a checksum with every value. A [`DataDir`] belongs to one process and
//! one version of the format.

mod data_dir;
mod engine;
mod error;
mod sealed;

pub use data_dir::{DataDir, DataDirError, FORMAT_VERSION, FoundDataDir};
pub use engine::{COMMIT_JOBS_MAX, Engine, EngineCounts, EngineOptions, QUEUE_JOBS_MAX, RELAXED_FOR};
pub use error::{EngineError, EngineErrorKind, JobError, OpenError};
pub use sealed::{SealedReader, SealedTable, SealedWriter};

/// The engine's own crate, for jobs: its transactions are theirs.
pub use redb;
