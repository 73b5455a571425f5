//! One WebSocket: what goes over it, as values.

use crate::client::Client;
use crate::error::ClientError;
use crate::outbox::Parcel;
use crate::unread::Snapshot;
use futures::{SinkExt, StreamExt};
use readmark_domain::hot::{Entry, SyncToken};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message as Frame};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// How long a connection may take to stand.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// The server pings every 30 s; after so long without any sign of life it is gone.
const SILENCE_LIMIT: Duration = Duration::from_secs(75);
/// Read at once: most frames are smaller, and a program may hold thousands of connections.
const READ_BUFFER_BYTES: usize = 4 * 1024;

/// What a call on a connection is named in errors.
const CALL: &str = "GET /v1/ws";

/// From the server.
pub(crate) enum Message {
    Ready,
    Snapshot(Snapshot, SyncToken),
    Entries(Vec<Entry>, SyncToken),
    Done(u64),
    Failed(u64, ClientError),
    /// What this client does not know: a newer server may say more.
    Other,
}

/// Why a connection is over.
pub(crate) enum LinkEnd {
    Broken(String),
    Closed { code: u16, reason: String },
}

impl LinkEnd {
    pub fn into_error(self) -> ClientError {
        let call = CALL.to_owned();
        match self {
            Self::Broken(detail) => ClientError::NoAnswer { call, detail },
            Self::Closed { code, reason } => ClientError::Closed { call, code, reason },
        }
    }
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Told {
    Ready {},
    Snapshot {
        snapshot: Snapshot,
        token: SyncToken,
    },
    Entries {
        entries: Vec<Entry>,
        token: SyncToken,
    },
    Ok {
        id: Value,
    },
    Error {
        id: Value,
        status: u16,
        problem: String,
        detail: String,
        retry_after_s: Option<u64>,
    },
    #[serde(other)]
    Other,
}

pub(crate) struct Link {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Link {
    /// Connects and says hello.
    pub async fn connect(client: &Client, token: Option<&SyncToken>) -> Result<Self, ClientError> {
        let bearer = client.token.get().await;
        let bearer = bearer.map_err(|detail| ClientError::Token { call: CALL.to_owned(), detail })?;
        let address = client.websocket_address();
        let wrong = |detail: String| ClientError::Address { address: address.clone(), detail };
        let mut request = address.as_str().into_client_request().map_err(|error| wrong(error.to_string()))?;
        let bearer =
            HeaderValue::from_str(&format!("Bearer {bearer}")).map_err(|error| wrong(error.to_string()))?;
        request.headers_mut().insert("authorization", bearer);
        request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static("readmark.v1"));
        let config = WebSocketConfig::default().read_buffer_size(READ_BUFFER_BYTES);
        // Frames are small and wait for nothing.
        let connecting = tokio_tungstenite::connect_async_with_config(request, Some(config), true);
        let (stream, _) = match tokio::time::timeout(CONNECT_LIMIT, connecting).await {
            Ok(Ok(connected)) => connected,
            Ok(Err(Error::Http(answer))) => return Err(refused(answer.status().as_u16())),
            Ok(Err(error)) => return Err(LinkEnd::Broken(error.to_string()).into_error()),
            Err(_) => return Err(LinkEnd::Broken("not connected in time".to_owned()).into_error()),
        };
        let mut link = Self { stream };
        link.write(&json!({"type": "hello", "token": token})).await.map_err(LinkEnd::into_error)?;
        Ok(link)
    }

    /// The next message. May be dropped while it waits.
    pub async fn next(&mut self) -> Result<Message, LinkEnd> {
        loop {
            let frame = match tokio::time::timeout(SILENCE_LIMIT, self.stream.next()).await {
                Err(_) => return Err(LinkEnd::Broken("nothing heard".to_owned())),
                Ok(None) => return Err(LinkEnd::Broken("closed".to_owned())),
                Ok(Some(Err(error))) => return Err(LinkEnd::Broken(error.to_string())),
                Ok(Some(Ok(frame))) => frame,
            };
            match frame {
                Frame::Text(text) => return Ok(read(text.as_str())),
                Frame::Close(Some(close)) => {
                    let (code, reason) = (close.code.into(), close.reason.to_string());
                    return Err(LinkEnd::Closed { code, reason });
                }
                Frame::Close(None) => return Err(LinkEnd::Broken("closed".to_owned())),
                // The library answers pings by itself.
                Frame::Binary(_) | Frame::Ping(_) | Frame::Pong(_) | Frame::Frame(_) => {}
            }
        }
    }

    /// Sends a parcel under a number, which its answer bears.
    pub async fn send(&mut self, id: u64, parcel: &Parcel) -> Result<(), LinkEnd> {
        let message = match parcel {
            Parcel::Mark(conversation_id, seq) => {
                json!({"type": "read", "id": id, "conversation_id": conversation_id, "up_to_seq": seq})
            }
            Parcel::Acks(conversation_id, acks) => {
                let messages: Vec<Value> = acks
                    .iter()
                    .map(|(seq, sender)| match sender {
                        Some(uid) => json!({"seq": seq, "sender_uid": uid}),
                        None => json!({"seq": seq}),
                    })
                    .collect();
                json!({"type": "ack", "id": id, "conversation_id": conversation_id, "messages": messages})
            }
        };
        self.write(&message).await
    }

    async fn write(&mut self, message: &Value) -> Result<(), LinkEnd> {
        let frame = Frame::Text(message.to_string().into());
        self.stream.send(frame).await.map_err(|error| LinkEnd::Broken(error.to_string()))
    }
}

/// What can't be read is left out, as what is not known: one bad message breaks nothing.
fn read(text: &str) -> Message {
    match serde_json::from_str(text) {
        Ok(Told::Ready {}) => Message::Ready,
        Ok(Told::Snapshot { snapshot, token }) => Message::Snapshot(snapshot, token),
        Ok(Told::Entries { entries, token }) => Message::Entries(entries, token),
        Ok(Told::Ok { id }) => id.as_u64().map_or(Message::Other, Message::Done),
        Ok(Told::Error { id, status, problem, detail, retry_after_s }) => {
            let retry_after = retry_after_s.map(Duration::from_secs);
            let error = ClientError::Refused { call: CALL.to_owned(), status, problem, detail, retry_after };
            id.as_u64().map_or(Message::Other, |id| Message::Failed(id, error))
        }
        Ok(Told::Other) | Err(_) => Message::Other,
    }
}

fn refused(status: u16) -> ClientError {
    let detail = "the connection was refused".to_owned();
    ClientError::Refused { call: CALL.to_owned(), status, problem: String::new(), detail, retry_after: None }
}
