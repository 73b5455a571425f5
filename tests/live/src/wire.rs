//! One WebSocket.

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

/// Longest wait for what should take milliseconds.
const HEARD_WITHIN: Duration = Duration::from_secs(30);
/// Longest wait for a connection to stand: a server that takes none hangs.
const CONNECTED_WITHIN: Duration = Duration::from_secs(10);

/// What comes from the server.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// A message.
    Frame(Value),
    /// A ping of the protocol, which is answered by itself.
    Ping,
    /// A close with its code; 1005 when it bears none.
    Closed(u16),
    /// The connection is gone without a close.
    Cut(String),
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// The server answered by HTTP with this status.
    Status(u16),
    /// There was no such answer.
    NoAnswer(String),
}

/// A connection.
pub struct Wire {
    stream: WebSocketStream<TcpStream>,
    /// The subprotocol that the server has selected.
    pub subprotocol: Option<String>,
    /// What the server said when it closed.
    pub closing_words: Option<String>,
}

impl Wire {
    /// With a token in the header, as a program does it.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn open(to: SocketAddr, token: &str) -> Result<Self, Refused> {
        let bearer = format!("Bearer {token}");
        Self::with_headers(to, &[("authorization", &bearer), ("sec-websocket-protocol", "readmark.v1")]).await
    }

    /// With any headers.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn with_headers(to: SocketAddr, headers: &[(&str, &str)]) -> Result<Self, Refused> {
        Self::over(connect(to).await?, headers, WebSocketConfig::default()).await
    }

    /// That takes no frame of more than so many bytes, and messages of any length.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn with_small_frames(to: SocketAddr, token: &str, bytes: usize) -> Result<Self, Refused> {
        let bearer = format!("Bearer {token}");
        let config = WebSocketConfig::default().max_frame_size(Some(bytes));
        Self::over(connect(to).await?, &[("authorization", &bearer)], config).await
    }

    /// Whose buffer in the kernel takes this many bytes, as far as the kernel allows.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn with_small_buffer(to: SocketAddr, token: &str, bytes: u32) -> Result<Self, Refused> {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(bytes).expect("its buffer can be set");
        let stream = socket.connect(to).await.map_err(|error| Refused::NoAnswer(error.to_string()))?;
        let bearer = format!("Bearer {token}");
        Self::over(stream, &[("authorization", &bearer)], WebSocketConfig::default()).await
    }

    async fn over(
        stream: TcpStream,
        headers: &[(&str, &str)],
        config: WebSocketConfig,
    ) -> Result<Self, Refused> {
        stream.set_nodelay(true).expect("the socket is open");
        let to = stream.peer_addr().map_err(|error| Refused::NoAnswer(error.to_string()))?;
        let mut request = format!("ws://{to}/v1/ws").into_client_request().expect("an address");
        for (name, value) in headers {
            let name: HeaderName = name.parse().expect("a header's name");
            request.headers_mut().insert(name, HeaderValue::from_str(value).expect("a header's value"));
        }
        let shaking_hands = client_async_with_config(request, stream, Some(config));
        match tokio::time::timeout(CONNECTED_WITHIN, shaking_hands).await {
            Ok(Ok((stream, answer))) => {
                let subprotocol = answer.headers().get("sec-websocket-protocol");
                let subprotocol = subprotocol.and_then(|value| value.to_str().ok()).map(str::to_owned);
                Ok(Self { stream, subprotocol, closing_words: None })
            }
            Ok(Err(Error::Http(answer))) => Err(Refused::Status(answer.status().as_u16())),
            Ok(Err(error)) => Err(Refused::NoAnswer(error.to_string())),
            Err(_) => Err(Refused::NoAnswer("no answer in time".to_owned())),
        }
    }

    /// Sends a message; a connection that is gone shows when something is to be heard.
    pub async fn say(&mut self, frame: &Value) {
        self.send(Message::text(frame.to_string())).await;
    }

    /// Sends any message.
    pub async fn send(&mut self, message: Message) {
        let _ = self.stream.send(message).await;
    }

    /// The first message, which says from where to follow.
    pub async fn hello(&mut self, token: Option<&str>) {
        self.say(&json!({"type": "hello", "token": token})).await;
    }

    /// The bytes below, for what is no WebSocket.
    pub fn socket(&mut self) -> &mut TcpStream {
        self.stream.get_mut()
    }

    /// What comes next, however long it takes. May be dropped while it waits.
    pub async fn next(&mut self) -> Heard {
        loop {
            return match self.stream.next().await {
                None => Heard::Cut("the end".to_owned()),
                Some(Err(error)) => Heard::Cut(error.to_string()),
                Some(Ok(Message::Text(text))) => {
                    let frame = serde_json::from_str(text.as_str());
                    Heard::Frame(frame.unwrap_or_else(|error| panic!("{text} is no JSON: {error}")))
                }
                Some(Ok(Message::Close(close))) => {
                    self.closing_words = close.as_ref().map(|close| close.reason.to_string());
                    Heard::Closed(close.map_or(1005, |close| close.code.into()))
                }
                Some(Ok(Message::Ping(_))) => Heard::Ping,
                Some(Ok(Message::Pong(_) | Message::Frame(_))) => continue,
                Some(Ok(Message::Binary(bytes))) => panic!("binary from the server: {bytes:?}"),
            };
        }
    }

    /// What comes next, which must come soon.
    pub async fn hear(&mut self) -> Heard {
        let heard = tokio::time::timeout(HEARD_WITHIN, self.next()).await;
        heard.unwrap_or_else(|_| panic!("nothing heard within {HEARD_WITHIN:?}"))
    }

    /// The next message, which must come.
    pub async fn frame(&mut self) -> Value {
        loop {
            match self.hear().await {
                Heard::Frame(frame) => return frame,
                Heard::Ping => {}
                end @ (Heard::Closed(_) | Heard::Cut(_)) => panic!("a message was to come, and came {end:?}"),
            }
        }
    }

    /// The next message of a type; those of others are passed over.
    pub async fn frame_of(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.frame().await;
            if frame["type"] == kind {
                return frame;
            }
        }
    }

    /// The next entry of a kind; what else comes is passed over, also the other entries of its message.
    pub async fn entry(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.frame_of("entries").await;
            let entries = frame["entries"].as_array().unwrap_or_else(|| panic!("no entries: {frame}"));
            if let Some(entry) = entries.iter().find(|entry| entry["kind"] == kind) {
                return entry.clone();
            }
        }
    }

    /// Says it, and hears the answer that bears its id; what else comes meanwhile is passed over.
    pub async fn ask(&mut self, frame: &Value) -> Value {
        self.say(frame).await;
        loop {
            let answer = self.frame().await;
            if matches!(answer["type"].as_str(), Some("ok" | "error")) && answer["id"] == frame["id"] {
                return answer;
            }
        }
    }

    /// How the connection ends, after whatever comes before.
    pub async fn end(&mut self) -> Heard {
        loop {
            match self.hear().await {
                Heard::Frame(_) | Heard::Ping => {}
                end @ (Heard::Closed(_) | Heard::Cut(_)) => return end,
            }
        }
    }
}

async fn connect(to: SocketAddr) -> Result<TcpStream, Refused> {
    let stream = tokio::time::timeout(CONNECTED_WITHIN, TcpStream::connect(to)).await;
    let stream = stream.map_err(|_| Refused::NoAnswer("no connection in time".to_owned()))?;
    stream.map_err(|error| Refused::NoAnswer(error.to_string()))
}
