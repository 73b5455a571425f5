//! A device on a WebSocket, as docs/clients.md describes it.

use futures::{SinkExt, StreamExt};
use readmark_test_harness::Server;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

/// What a device reads at once: thousands of them are held.
const READ_BUFFER_BYTES: usize = 4 * 1024;

/// A connection that has said hello.
pub struct Device {
    stream: WebSocketStream<TcpStream>,
}

impl Device {
    /// Connects a user's device and waits for the picture of what is unread.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn connect(server: &Server, uid: u64, endpoint: &str) -> Self {
        let address = server.listen().expect("the server is up");
        let request = server.websocket(address, uid, endpoint);
        let tcp = TcpStream::connect(address).await.unwrap_or_else(|e| panic!("user {uid}: {e}"));
        tcp.set_nodelay(true).expect("a socket takes options");
        let config = WebSocketConfig::default().read_buffer_size(READ_BUFFER_BYTES);
        let (stream, _) = client_async_with_config(request, tcp, Some(config))
            .await
            .unwrap_or_else(|e| panic!("user {uid}: {e}"));
        let mut device = Self { stream };
        let hello = r#"{"type":"hello","token":null}"#;
        device.stream.send(Message::text(hello)).await.unwrap_or_else(|e| panic!("user {uid}: {e}"));
        let first = device.next().await;
        assert_eq!(first["type"], "snapshot", "user {uid}: {first}");
        device
    }

    /// The next frame; pings are answered meanwhile.
    ///
    /// # Panics
    /// When the connection ends.
    pub async fn next(&mut self) -> Value {
        loop {
            match self.stream.next().await {
                Some(Ok(Message::Text(text))) => {
                    return serde_json::from_str(text.as_str()).unwrap_or_else(|e| panic!("{e}: {text}"));
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Binary(_) | Message::Frame(_))) => {}
                end @ (Some(Ok(Message::Close(_)) | Err(_)) | None) => panic!("a connection ends: {end:?}"),
            }
        }
    }
}
