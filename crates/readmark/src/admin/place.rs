use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// The address of a socket has room for a path of so many bytes (107 on Linux, fewer elsewhere).
const PATH_BYTES_MAX: usize = 100;

/// A socket's path that fits an address, however deep its folder lies.
pub(super) struct Place {
    path: PathBuf,
    /// Held while the path is used.
    _folder: Option<File>,
}

impl Place {
    /// A long path is named by way of its folder, opened; where there is no `/proc`, who uses it is told that it is too
    /// long.
    pub fn of(socket: &Path) -> io::Result<Self> {
        let opened = Path::new("/proc/self/fd");
        if socket.as_os_str().len() > PATH_BYTES_MAX
            && opened.is_dir()
            && let (Some(folder), Some(name)) = (socket.parent(), socket.file_name())
        {
            let folder = File::open(folder)?;
            let path = opened.join(folder.as_raw_fd().to_string()).join(name);
            return Ok(Self { path, _folder: Some(folder) });
        }
        Ok(Self { path: socket.to_owned(), _folder: None })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}
