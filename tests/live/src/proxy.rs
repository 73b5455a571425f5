//! A network between devices and a process, which can be cut.

use readmark_test_harness::Process;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Always at one address, also when its process is started again at another one.
pub struct Proxy {
    /// Where devices connect.
    pub address: SocketAddr,
    state: Arc<State>,
}

struct State {
    process: Process,
    is_down: AtomicBool,
    /// Rises whenever connections are cut.
    cuts: watch::Sender<u32>,
}

impl Proxy {
    /// Before a process, which need not be running.
    pub async fn before(process: &Process) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let state = State {
            process: process.clone(),
            is_down: AtomicBool::new(false),
            cuts: watch::Sender::default(),
        };
        let state = Arc::new(state);
        let of_connections = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, Arc::clone(&of_connections)));
            }
        });
        Self { address, state }
    }

    /// Where devices connect, as an address of HTTP.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Cuts every connection.
    pub fn cut(&self) {
        self.state.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Cuts every connection, and new ones at once, until [`Self::is_up`].
    pub fn goes_down(&self) {
        self.state.is_down.store(true, Ordering::SeqCst);
        self.cut();
    }

    /// Carries connections again.
    pub fn is_up(&self) {
        self.state.is_down.store(false, Ordering::SeqCst);
    }
}

async fn carry(mut client: TcpStream, state: Arc<State>) {
    let mut cuts = state.cuts.subscribe();
    if state.is_down.load(Ordering::SeqCst) {
        return;
    }
    let Some(listen) = state.process.listen() else { return };
    let Ok(mut server) = TcpStream::connect(listen).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
        _ = cuts.changed() => {}
    }
}
