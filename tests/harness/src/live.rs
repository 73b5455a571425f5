//! A device that follows its user's stream, connected or by asking now and then, by the rules of `docs/clients.md`.

use crate::picture::Picture;
use crate::server::Server;
use crate::{DEADLINE, token, wait_until};
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Request;

/// Pause before a connection that broke is made again.
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);
/// Entries asked for at once.
const PAGE: usize = 100;

/// A device of a user. Its connection ends with it.
pub struct LiveDevice {
    server: Server,
    uid: u64,
    endpoint: String,
    picture: Arc<Mutex<Picture>>,
    connection: Mutex<Option<JoinHandle<()>>>,
}

impl LiveDevice {
    /// One that knows nothing yet.
    #[must_use]
    pub fn new(server: &Server, uid: u64, endpoint: &str) -> Self {
        let endpoint = endpoint.to_owned();
        Self { server: server.clone(), uid, endpoint, picture: Arc::default(), connection: Mutex::default() }
    }

    /// What it shows and was told; fails when it was told what must never be.
    pub fn picture(&self) -> MutexGuard<'_, Picture> {
        let picture = self.picture.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(broken) = picture.broken() {
            panic!("the device {} of user {}: {broken}", self.endpoint, self.uid);
        }
        picture
    }

    /// Connects, and again whenever the connection breaks; returns once the stream is followed.
    pub async fn connect(&self) {
        let (server, picture) = (self.server.clone(), Arc::clone(&self.picture));
        let (uid, endpoint) = (self.uid, self.endpoint.clone());
        let connection = tokio::spawn(async move {
            loop {
                let end = follow(&server, uid, &endpoint, &picture).await;
                if disconnected(&picture, end) {
                    return;
                }
                tokio::time::sleep(RECONNECT_PAUSE).await;
            }
        });
        let before = self.connection.lock().unwrap_or_else(PoisonError::into_inner).replace(connection);
        assert!(before.is_none(), "the device is connected already");
        wait_until(DEADLINE, &format!("user {} to be connected", self.uid), || async {
            let picture = self.picture();
            if picture.is_connected() { Ok(()) } else { Err(picture.last_end().to_owned()) }
        })
        .await;
    }

    /// Asks by `GET /v1/sync` until there is nothing more; `Err` says what was answered instead.
    ///
    /// # Errors
    /// The answer that was none, or another status than 200.
    pub async fn sync(&self) -> Result<(), String> {
        let caller = self.server.as_user(self.uid, &self.endpoint);
        loop {
            let since = self.picture().token().map_or_else(String::new, |token| format!("&since={token}"));
            let path = format!("/v1/sync?limit={PAGE}{since}");
            let reply = caller.try_send("GET", &path, &Value::Null).await?;
            if reply.status != 200 {
                return Err(reply.to_string());
            }
            let answer = reply.json();
            self.picture.lock().unwrap_or_else(PoisonError::into_inner).take(&answer);
            if answer["more"] != true {
                return Ok(());
            }
        }
    }
}

impl Drop for LiveDevice {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            connection.abort();
        }
    }
}

/// Says whether it is over: the device was told what must never be.
fn disconnected(picture: &Mutex<Picture>, end: String) -> bool {
    let mut picture = picture.lock().unwrap_or_else(PoisonError::into_inner);
    picture.disconnected(end);
    picture.broken().is_some()
}

impl Server {
    /// What opens a connection of a user's device at one of the server's processes.
    fn websocket(&self, at: SocketAddr, uid: u64, endpoint: &str) -> Request {
        let mut request = format!("ws://{at}/v1/ws").into_client_request().expect("an address");
        let bearer = format!("Bearer {}", token::user(&self.secret(), uid, endpoint));
        let headers = request.headers_mut();
        headers.insert("authorization", bearer.parse().expect("a header"));
        headers.insert("sec-websocket-protocol", "readmark.v1".parse().expect("a header"));
        request
    }
}

/// One connection, until it ends; says how.
async fn follow(server: &Server, uid: u64, endpoint: &str, picture: &Mutex<Picture>) -> String {
    let living = server.processes().iter().find_map(crate::Process::takes_calls_at);
    let Some(address) = living else { return "readmark is down".to_owned() };
    let mut stream = match connect_async(server.websocket(address, uid, endpoint)).await {
        Ok((stream, _)) => stream,
        Err(error) => return error.to_string(),
    };
    let known = picture.lock().unwrap_or_else(PoisonError::into_inner).token().map(str::to_owned);
    let hello = json!({"type": "hello", "token": known}).to_string();
    if let Err(error) = stream.send(Message::Text(hello.into())).await {
        return error.to_string();
    }
    while let Some(frame) = stream.next().await {
        match frame {
            Ok(Message::Text(text)) => {
                let told: Value = serde_json::from_str(text.as_str()).expect("frames are JSON");
                picture.lock().unwrap_or_else(PoisonError::into_inner).take(&told);
            }
            Ok(Message::Close(close)) => return format!("closed: {close:?}"),
            Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {}
            Err(error) => return error.to_string(),
        }
    }
    "the connection ended".to_owned()
}
