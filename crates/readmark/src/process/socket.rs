//! What a process with a data directory leaves there while it runs: its address, and the operator's socket.

use crate::admin;
use crate::exit::Failure;
use readmark_embedded::DataDir;
use readmark_runtime::ports::{Ports, Rules};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The socket that is served.
pub(super) struct Socket {
    files: [PathBuf; 2],
    served: JoinHandle<()>,
}

impl Socket {
    pub fn serve(
        data_dir: &DataDir,
        address: SocketAddr,
        ports: &Ports,
        rules: &Rules,
        stop: &CancellationToken,
    ) -> Result<Self, Failure> {
        let listener = admin::listen(&data_dir.admin_socket()).map_err(Failure::failed)?;
        say_where(address, &data_dir.listen_file())?;
        let router = admin::routes(ports.clone(), rules.clone(), stop.clone());
        let served = tokio::spawn(admin::serve(listener, router, stop.clone()));
        Ok(Self { files: [data_dir.listen_file(), data_dir.admin_socket()], served })
    }

    /// Waits until nobody is served any more, and takes the files away.
    pub async fn ended(self) {
        let _ = self.served.await;
        for file in self.files {
            let _ = std::fs::remove_file(file);
        }
    }
}

/// To programs, in a file.
fn say_where(address: SocketAddr, file: &Path) -> Result<(), Failure> {
    let unfinished = file.with_extension("new");
    std::fs::write(&unfinished, format!("{address}\n"))
        .and_then(|()| std::fs::rename(&unfinished, file))
        .map_err(|error| Failure::failed(format!("{}: {error}", file.display())))
}
