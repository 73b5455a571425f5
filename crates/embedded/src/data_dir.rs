//! The directory of an embedded installation.

mod look;

pub use look::FoundDataDir;

use crate::engine::sync_parent;
use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Version of what is in a data directory.
pub const FORMAT_VERSION: u32 = 1;

/// What the first line of `FORMAT` begins with, before the version.
const FORMAT_MAGIC: &str = "readmark-data";
const FORMAT_FILE: &str = "FORMAT";
const FORMAT_UNFINISHED: &str = "FORMAT.new";
const LOCK_FILE: &str = "LOCK";
/// Only the owner may look: the directory holds the installation's secret.
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Why a data directory can't be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// Another process holds it.
    #[error("the data directory {} is in use by another process", .0.display())]
    InUse(PathBuf),
    /// A newer program has written it.
    #[error(
        "the data directory {} has format {found}, newer than format {FORMAT_VERSION} of this version of \
         readmark: use the newer readmark, or another directory", path.display()
    )]
    Newer {
        /// The directory.
        path: PathBuf,
        /// The version in it.
        found: u32,
    },
    /// It holds something else, or what says its format is damaged.
    #[error("{} is no data directory of readmark: {detail}; name an empty directory, or one that does not exist", path.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// In words.
        detail: String,
    },
    /// It can't be written.
    #[error("the data directory {} can't be written: {detail}; check its owner, its permissions and whether the file system is read-only", path.display())]
    Unwritable {
        /// The directory.
        path: PathBuf,
        /// In words.
        detail: String,
    },
    /// Anything else that the file system says.
    #[error("the data directory {} can't be used: {operation}: {detail}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// What failed.
        operation: &'static str,
        /// In words.
        detail: String,
    },
}

/// A data directory, held by this process alone until the value is dropped.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    _lock: Lock,
}

/// The lock on a directory. A kill ends it too, since it lasts as long as its file is open.
///
/// Dropping it unlocks in words: a child process that is just being started holds every open file
/// of its parent until it runs its program, and the lock with them.
#[derive(Debug)]
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // When it fails, closing the file is what ends the lock.
        self.0.unlock().ok();
    }
}

impl DataDir {
    /// Opens a data directory; creates it, for its owner only, when it is missing or empty.
    ///
    /// # Errors
    /// [`DataDirError`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, DataDirError> {
        let path = path.into();
        create_directory(&path)?;
        let is_new = is_new(&path)?;
        let lock = lock(&path)?;
        if is_new {
            restrict(&path)?;
            write_format(&path)?;
        }
        check_format(&path)?;
        Ok(Self { path, _lock: lock })
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The event log's file.
    #[must_use]
    pub fn log_file(&self) -> PathBuf {
        self.path.join("log.redb")
    }

    /// The receipt store's file.
    #[must_use]
    pub fn store_file(&self) -> PathBuf {
        self.path.join("store.redb")
    }

    /// The file of the secret that signs tokens.
    #[must_use]
    pub fn secret_file(&self) -> PathBuf {
        self.path.join("secret")
    }

    /// The socket on which the running process takes commands.
    #[must_use]
    pub fn admin_socket(&self) -> PathBuf {
        self.path.join("admin.sock")
    }

    /// The file that says where the running process listens.
    #[must_use]
    pub fn listen_file(&self) -> PathBuf {
        self.path.join("listen")
    }
}

fn failed(path: &Path, operation: &'static str, error: &std::io::Error) -> DataDirError {
    let path = path.to_owned();
    let detail = error.to_string();
    #[allow(clippy::wildcard_enum_match_arm)] // a non-exhaustive enum of the standard library
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            DataDirError::Unwritable { path, detail }
        }
        _ => DataDirError::Io { path, operation, detail },
    }
}

fn create_directory(path: &Path) -> Result<(), DataDirError> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => {
            Err(DataDirError::Foreign { path: path.to_owned(), detail: "it is not a directory".to_owned() })
        }
        Err(error) if error.kind() == ErrorKind::NotFound => DirBuilder::new()
            .recursive(true)
            .mode(DIRECTORY_MODE)
            .create(path)
            .and_then(|()| sync_parent(path))
            .map_err(|error| failed(path, "creating it", &error)),
        Err(error) => Err(failed(path, "looking at it", &error)),
    }
}

/// Is nothing there yet, or only what a start that was killed has left?
fn is_new(path: &Path) -> Result<bool, DataDirError> {
    let entries = std::fs::read_dir(path).map_err(|error| failed(path, "listing it", &error))?;
    let mut foreign = None;
    for entry in entries {
        let name = entry.map_err(|error| failed(path, "listing it", &error))?.file_name();
        if name == FORMAT_FILE {
            return Ok(false);
        }
        if name != LOCK_FILE && name != FORMAT_UNFINISHED {
            foreign = Some(name);
        }
    }
    match foreign {
        None => Ok(true),
        Some(name) => Err(DataDirError::Foreign {
            path: path.to_owned(),
            detail: format!("it holds {} but no {FORMAT_FILE}", name.display()),
        }),
    }
}

fn lock(path: &Path) -> Result<Lock, DataDirError> {
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(FILE_MODE)
        .open(path.join(LOCK_FILE))
        .map_err(|error| failed(path, "opening its lock", &error))?;
    match lock.try_lock() {
        Ok(()) => Ok(Lock(lock)),
        Err(TryLockError::WouldBlock) => Err(DataDirError::InUse(path.to_owned())),
        Err(TryLockError::Error(error)) => Err(failed(path, "locking it", &error)),
    }
}

fn restrict(path: &Path) -> Result<(), DataDirError> {
    std::fs::set_permissions(path, Permissions::from_mode(DIRECTORY_MODE))
        .map_err(|error| failed(path, "restricting it to its owner", &error))
}

fn write_format(path: &Path) -> Result<(), DataDirError> {
    let unfinished = path.join(FORMAT_UNFINISHED);
    let write = || {
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(&unfinished)?;
        writeln!(file, "{FORMAT_MAGIC} {FORMAT_VERSION}")?;
        file.sync_all()?;
        std::fs::rename(&unfinished, path.join(FORMAT_FILE))?;
        File::open(path)?.sync_all()
    };
    write().map_err(|error| failed(path, "writing its format", &error))
}

fn check_format(path: &Path) -> Result<(), DataDirError> {
    let bytes =
        std::fs::read(path.join(FORMAT_FILE)).map_err(|error| failed(path, "reading its format", &error))?;
    let text = String::from_utf8_lossy(&bytes);
    let version = text
        .strip_prefix(FORMAT_MAGIC)
        .map(str::trim)
        .and_then(|version| version.parse::<u32>().ok())
        .filter(|version| *version > 0);
    match version {
        Some(FORMAT_VERSION) => Ok(()),
        Some(found) if found > FORMAT_VERSION => Err(DataDirError::Newer { path: path.to_owned(), found }),
        Some(_) | None => {
            let shown: String = text.chars().take(40).collect();
            Err(DataDirError::Foreign {
                path: path.to_owned(),
                detail: format!("its {FORMAT_FILE} says {shown:?}"),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

    use super::lock;

    #[test]
    fn a_copy_of_the_open_file_does_not_keep_the_lock() {
        let directory = tempfile::TempDir::new().unwrap();
        let held = lock(directory.path()).unwrap();
        let as_a_starting_child_has_it = held.0.try_clone().unwrap();
        lock(directory.path()).unwrap_err();
        drop(held);
        lock(directory.path()).unwrap();
        drop(as_a_starting_child_has_it);
    }
}
