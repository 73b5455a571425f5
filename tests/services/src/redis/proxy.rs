//! A proxy before a server that loses an answer: the server has done what was asked, the connection is cut.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

#[derive(Default)]
struct State {
    loses_next: AtomicBool,
    lost: AtomicU32,
    /// Connections are refused, and those there are are cut.
    is_cut: AtomicBool,
    /// Rises whenever connections are cut.
    cuts: watch::Sender<u32>,
    server: Mutex<String>,
}

/// A running proxy.
pub struct Proxy {
    /// Where it listens.
    pub address: SocketAddr,
    state: Arc<State>,
}

impl Proxy {
    /// Before a server at this address.
    pub async fn start(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let state = Arc::new(State { server: Mutex::new(server), ..State::default() });
        let of_connections = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if !of_connections.is_cut.load(Ordering::SeqCst) {
                    tokio::spawn(serve(client, Arc::clone(&of_connections)));
                }
            }
        });
        Self { address, state }
    }

    /// For a client.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    /// The next bytes that a server sends are lost, and their connection with them.
    pub fn lose_next(&self) {
        self.state.loses_next.store(true, Ordering::SeqCst);
    }

    /// How many answers were lost.
    #[must_use]
    pub fn lost(&self) -> u32 {
        self.state.lost.load(Ordering::SeqCst)
    }

    /// Cuts every connection; refuses new ones until [`Proxy::heal`].
    pub fn cut(&self) {
        self.state.is_cut.store(true, Ordering::SeqCst);
        self.state.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Cuts every connection once; new ones are taken.
    pub fn cut_once(&self) {
        self.state.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Takes connections again.
    pub fn heal(&self) {
        self.state.is_cut.store(false, Ordering::SeqCst);
    }

    /// New connections lead to another server; those there are stay.
    pub fn lead_new_to(&self, server: String) {
        *self.state.server.lock().expect("no panic") = server;
    }

    /// As [`Proxy::lead_new_to`], and connections there are are cut.
    pub fn lead_to(&self, server: String) {
        self.lead_new_to(server);
        self.cut_once();
    }
}

async fn serve(mut client: TcpStream, state: Arc<State>) {
    let mut cuts = state.cuts.subscribe();
    let server = state.server.lock().expect("no panic").clone();
    let Ok(mut server) = TcpStream::connect(server).await else { return };
    let (mut asked, mut answered) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => match read {
                Ok(1..) if server.write_all(&asked[..read.unwrap_or(0)]).await.is_ok() => {}
                Ok(_) | Err(_) => return,
            },
            read = server.read(&mut answered) => match read {
                Ok(1..) if !state.loses_next.swap(false, Ordering::SeqCst) => {
                    if client.write_all(&answered[..read.unwrap_or(0)]).await.is_err() {
                        return;
                    }
                }
                Ok(1..) => {
                    state.lost.fetch_add(1, Ordering::SeqCst);
                    return;
                }
                Ok(_) | Err(_) => return,
            },
            _ = cuts.changed() => return,
        }
    }
}
