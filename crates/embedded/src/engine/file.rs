use super::EngineOptions;
use crate::error::{Failure, JobError, OpenError};
use redb::{Builder, Database, ReadTransaction, ReadableDatabase, StorageBackend};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, PoisonError, RwLock};

/// Opens the file again.
pub(crate) struct Opener {
    open: Box<dyn Fn() -> Result<Database, OpenError> + Send>,
}

impl Opener {
    /// For a file; creates it now when it is missing. Later a missing file is an error: an empty one in its
    /// place would hide the loss.
    pub fn file(path: PathBuf, options: &EngineOptions) -> Result<Self, OpenError> {
        if !path.try_exists().map_err(|error| OpenError::io(&path, &error))? {
            create_file(&path, options)?;
        }
        let options = options.clone();
        let open =
            move || builder(&path, &options).open(&path).map_err(|error| OpenError::of(&path, error.into()));
        Ok(Self { open: Box::new(open) })
    }

    pub fn storage<B: StorageBackend>(
        path: PathBuf,
        options: &EngineOptions,
        storage: impl Fn() -> std::io::Result<B> + Send + 'static,
    ) -> Self {
        let options = options.clone();
        Self {
            open: Box::new(move || {
                let storage = storage().map_err(|error| OpenError::io(&path, &error))?;
                builder(&path, &options)
                    .create_with_backend(storage)
                    .map_err(|error| OpenError::of(&path, error.into()))
            }),
        }
    }

    pub fn open(&self) -> Result<Database, OpenError> {
        (self.open)()
    }
}

fn builder(path: &Path, options: &EngineOptions) -> Builder {
    let mut builder = Builder::new();
    let shown = path.to_owned();
    builder
        .set_cache_size(options.cache_bytes)
        .set_check_integrity_on_open(options.check_integrity_on_open)
        .set_repair_callback(move |repair| {
            tracing::debug!(path = %shown.display(), progress = repair.progress(), "recovering after a crash");
        });
    builder
}

/// A file that was killed while it was being created can't be opened; so it gets its name when it is whole.
fn create_file(path: &Path, options: &EngineOptions) -> Result<(), OpenError> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".new");
    let unfinished = PathBuf::from(unfinished);
    let io = |error: std::io::Error| OpenError::io(path, &error);
    match std::fs::remove_file(&unfinished) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(io(error)),
    }
    let database =
        builder(path, options).create(&unfinished).map_err(|error| OpenError::of(path, error.into()))?;
    drop(database);
    std::fs::rename(&unfinished, path).map_err(io)?;
    sync_parent(path).map_err(io)
}

/// Makes a new name in a directory durable.
pub(crate) fn sync_parent(path: &Path) -> std::io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    std::fs::File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

#[derive(Default)]
pub(crate) struct Counts {
    pub jobs: AtomicU64,
    pub commits: AtomicU64,
    pub reopened: AtomicU64,
}

/// What readers and the writer share.
pub(crate) struct Shared {
    pub path: PathBuf,
    /// `None` while it can't be opened. Held for reading during every transaction: who replaces it waits
    /// until no transaction uses the old one, else the file's lock would still be held.
    pub database: RwLock<Option<Database>>,
    pub counts: Counts,
    pub closed: AtomicBool,
    write_failure: Mutex<Option<Failure>>,
}

impl Shared {
    pub fn new(path: PathBuf, database: Database) -> Self {
        Self {
            path,
            database: RwLock::new(Some(database)),
            counts: Counts::default(),
            closed: AtomicBool::new(false),
            write_failure: Mutex::new(None),
        }
    }

    pub fn read<T>(&self, job: impl FnOnce(&ReadTransaction) -> Result<T, JobError>) -> Result<T, Failure> {
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let Some(database) = database.as_ref() else { return Err(self.away()) };
        let txn = database.begin_read().map_err(|error| Failure::of(error.into()))?;
        job(&txn).map_err(Failure::of_job)
    }

    /// Puts another handle, or none, in place of this one.
    pub fn replace(&self, database: Option<Database>) -> Option<Database> {
        std::mem::replace(&mut *self.database.write().unwrap_or_else(PoisonError::into_inner), database)
    }

    /// Why there is no handle.
    pub fn away(&self) -> Failure {
        if self.closed.load(std::sync::atomic::Ordering::Acquire) {
            return Failure::closed();
        }
        self.write_failure().unwrap_or_else(|| Failure::unavailable("the file is being opened again"))
    }

    pub fn write_failure(&self) -> Option<Failure> {
        self.write_failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set_write_failure(&self, failure: Option<Failure>) {
        *self.write_failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }
}
