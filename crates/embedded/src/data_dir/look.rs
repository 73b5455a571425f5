//! Looking at a data directory without taking it.

use super::{DataDirError, LOCK_FILE, check_format, failed, is_new};
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What is found where a data directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundDataDir {
    /// Nothing is in it yet: the first start makes it whole.
    pub is_new: bool,
    /// A process holds it.
    pub is_held: bool,
    /// User id of its owner.
    pub owner: u32,
    /// Who may do what, as in `0o700`.
    pub mode: u32,
}

impl FoundDataDir {
    /// Looks at a directory; `None` where there is none. Changes nothing. Whether it is held is asked by taking a shared
    /// lock for a moment.
    ///
    /// # Errors
    /// [`DataDirError`], but [`DataDirError::InUse`]: what [`super::DataDir::open`] would say as well.
    pub fn look(path: &Path) -> Result<Option<Self>, DataDirError> {
        let found = match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => found,
            Ok(_) => {
                let detail = "it is not a directory".to_owned();
                return Err(DataDirError::Foreign { path: path.to_owned(), detail });
            }
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(path, "looking at it", &error)),
        };
        let is_new = is_new(path)?;
        if !is_new {
            check_format(path)?;
        }
        let is_held = is_held(path)?;
        Ok(Some(Self { is_new, is_held, owner: found.uid(), mode: found.mode() & 0o7777 }))
    }
}

fn is_held(path: &Path) -> Result<bool, DataDirError> {
    let lock = match File::open(path.join(LOCK_FILE)) {
        Ok(lock) => lock,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(failed(path, "opening its lock", &error)),
    };
    match lock.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(failed(path, "asking for its lock", &error)),
    }
}
