//! One redb file, one writer.

mod file;
mod job;
mod writer;

use crate::error::{EngineError, Failure, JobError, OpenError};
pub(crate) use file::sync_parent;
use file::{Opener, Shared};
use job::{AnyJob, Job};
use redb::{ReadTransaction, StorageBackend, WriteTransaction};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use writer::Writer;

/// Jobs in one commit at most: beyond that a commit gets longer, not cheaper per job.
pub const COMMIT_JOBS_MAX: usize = 256;

/// Jobs that wait for the writer at most, four commits' worth; who comes then waits for a place.
pub const QUEUE_JOBS_MAX: usize = 4 * COMMIT_JOBS_MAX;

/// How long a relaxed write may stay without being durable when nothing else is written.
pub const RELAXED_FOR: Duration = Duration::from_secs(1);

/// How an engine is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineOptions {
    /// Bytes of the file kept in memory at most. The engine's own default would be 1 GiB.
    pub cache_bytes: usize,
    /// Reads that run at once at most, each on a blocking thread.
    pub reads_at_once: usize,
    /// Verify every page when opening: reads the whole file.
    pub check_integrity_on_open: bool,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self { cache_bytes: 16 * 1024 * 1024, reads_at_once: 8, check_integrity_on_open: false }
    }
}

/// What an engine has done since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EngineCounts {
    /// Jobs committed.
    pub jobs_total: u64,
    /// Durable commits.
    pub commits_total: u64,
    /// Times that the file had to be opened again.
    pub reopened_total: u64,
}

/// A job and its place in the queue, which it gives back when it is dropped.
pub(crate) struct Queued {
    job: Box<dyn AnyJob>,
    is_relaxed: bool,
    _place: OwnedSemaphorePermit,
}

pub(crate) enum Message {
    Job(Queued),
    /// A reader has found the handle spoilt: look, and open it again.
    Check,
    Close,
}

/// An open file; cheap to clone. Dropping the last clone commits what is queued and closes the file.
#[derive(Debug, Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    sender: mpsc::Sender<Message>,
    queue: Arc<Semaphore>,
    readers: Arc<Semaphore>,
    writer: Mutex<Option<JoinHandle<Result<(), Failure>>>>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("path", &self.shared.path).finish_non_exhaustive()
    }
}

impl Engine {
    /// Opens the file, or creates it.
    ///
    /// # Errors
    /// [`OpenError`]; after a crash this is no error, what was committed is there.
    pub fn open(path: impl Into<PathBuf>, options: &EngineOptions) -> Result<Self, OpenError> {
        let path = path.into();
        Self::start(options, Opener::file(path.clone(), options)?, path)
    }

    /// Opens an engine on a storage of the caller's, to inject faults; `path` only names it. `storage` is
    /// called again whenever the handle has to be opened again.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open_on<B: StorageBackend>(
        path: impl Into<PathBuf>,
        options: &EngineOptions,
        storage: impl Fn() -> std::io::Result<B> + Send + 'static,
    ) -> Result<Self, OpenError> {
        let path = path.into();
        Self::start(options, Opener::storage(path.clone(), options, storage), path)
    }

    fn start(options: &EngineOptions, opener: Opener, path: PathBuf) -> Result<Self, OpenError> {
        let shared = Arc::new(Shared::new(path, opener.open()?));
        let (sender, receiver) = mpsc::channel();
        let writer = Writer::new(Arc::clone(&shared), opener, receiver);
        let name = shared.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let thread = std::thread::Builder::new()
            .name(format!("write {name}"))
            .spawn(move || writer.run())
            .map_err(|error| OpenError::io(&shared.path, &error))?;
        Ok(Self {
            inner: Arc::new(Inner {
                shared,
                sender,
                queue: Arc::new(Semaphore::new(QUEUE_JOBS_MAX)),
                readers: Arc::new(Semaphore::new(options.reads_at_once.max(1))),
                writer: Mutex::new(Some(thread)),
            }),
        })
    }

    /// Its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.shared.path
    }

    /// Runs a job in a write transaction, with others that wait; resolves once that is durable. A job may
    /// run more than once (when another job of the same commit fails), each time on a fresh transaction, so
    /// it must not consume what it needs. When it fails, nothing of it is written. Jobs commit in the order
    /// in which they came. Dropping the future does not take the job back.
    ///
    /// # Errors
    /// [`EngineError`]; when retryable, the job may or may not have been committed.
    pub async fn write<T, F>(&self, operation: &'static str, job: F) -> Result<T, EngineError>
    where
        T: Send + 'static,
        F: FnMut(&WriteTransaction) -> Result<T, JobError> + Send + 'static,
    {
        self.queue(operation, false, job).await
    }

    /// As [`Engine::write`], but resolves once readers see it. It becomes durable with the next write that
    /// asks for that, or within [`RELAXED_FOR`], or when the engine is closed: after a crash, or when
    /// [`EngineCounts::reopened_total`] has risen, the newest relaxed writes may be gone, but none without
    /// those behind it.
    ///
    /// # Errors
    /// As [`Engine::write`].
    pub async fn write_relaxed<T, F>(&self, operation: &'static str, job: F) -> Result<T, EngineError>
    where
        T: Send + 'static,
        F: FnMut(&WriteTransaction) -> Result<T, JobError> + Send + 'static,
    {
        self.queue(operation, true, job).await
    }

    async fn queue<T, F>(&self, operation: &'static str, is_relaxed: bool, job: F) -> Result<T, EngineError>
    where
        T: Send + 'static,
        F: FnMut(&WriteTransaction) -> Result<T, JobError> + Send + 'static,
    {
        let path = &self.inner.shared.path;
        let closed = || Failure::closed().at(operation, path);
        let place = Arc::clone(&self.inner.queue).acquire_owned().await.map_err(|_| closed())?;
        let (answer, answered) = oneshot::channel();
        let queued = Queued { job: Box::new(Job::new(job, answer)), is_relaxed, _place: place };
        self.inner.sender.send(Message::Job(queued)).map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?.map_err(|failure| failure.at(operation, path))
    }

    /// Runs a job in a read transaction, which sees everything that was committed when it began. Keep it
    /// short: while it runs, pages that are replaced can't be used again.
    ///
    /// # Errors
    /// [`EngineError`].
    pub async fn read<T, F>(&self, operation: &'static str, job: F) -> Result<T, EngineError>
    where
        T: Send + 'static,
        F: FnOnce(&ReadTransaction) -> Result<T, JobError> + Send + 'static,
    {
        let shared = Arc::clone(&self.inner.shared);
        let permit = Arc::clone(&self.inner.readers)
            .acquire_owned()
            .await
            .map_err(|_| Failure::closed().at(operation, &shared.path))?;
        let outcome = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            shared.read(job)
        });
        let failure = match outcome.await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(failure)) => failure,
            Err(join) if join.is_panic() => Failure::of_panic(&*join.into_panic()),
            Err(_) => Failure::closed(),
        };
        if failure.spoils_handle {
            // When the writer is gone there is nothing to repair.
            let _ = self.inner.sender.send(Message::Check);
        }
        Err(failure.at(operation, &self.inner.shared.path))
    }

    /// Does the engine answer? Fails from a failed write on until a write has succeeded again, which the
    /// writer itself tries.
    ///
    /// # Errors
    /// [`EngineError`].
    pub async fn probe(&self) -> Result<(), EngineError> {
        if let Some(failure) = self.inner.shared.write_failure() {
            return Err(failure.at("probe", &self.inner.shared.path));
        }
        self.read("probe", |_| Ok(())).await
    }

    /// What it has done since it was opened.
    #[must_use]
    pub fn counts(&self) -> EngineCounts {
        let counts = &self.inner.shared.counts;
        EngineCounts {
            jobs_total: counts.jobs.load(Ordering::Relaxed),
            commits_total: counts.commits.load(Ordering::Relaxed),
            reopened_total: counts.reopened.load(Ordering::Relaxed),
        }
    }

    /// Commits what is queued, lets reads end and closes the file; later calls fail as closed.
    ///
    /// # Errors
    /// [`EngineError`] when the file could not be closed cleanly; what was committed is safe even so.
    pub async fn close(&self) -> Result<(), EngineError> {
        let inner = Arc::clone(&self.inner);
        let outcome = tokio::task::spawn_blocking(move || inner.stop()).await;
        outcome
            .unwrap_or_else(|_| Err(Failure::closed()))
            .map_err(|failure| failure.at("close", &self.inner.shared.path))
    }
}

impl Inner {
    fn stop(&self) -> Result<(), Failure> {
        self.queue.close();
        let _ = self.sender.send(Message::Close);
        let thread = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        match thread {
            // The last clone may have lived in a job: a thread can't wait for itself.
            Some(thread) if thread.thread().id() != std::thread::current().id() => {
                thread.join().unwrap_or_else(|payload| Err(Failure::of_panic(&*payload)))
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Err(failure) = self.stop() {
            tracing::warn!(path = %self.shared.path.display(), detail = %failure.detail, "closing failed");
        }
    }
}
