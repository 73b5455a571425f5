//! How a request becomes a WebSocket. By hand: axum's own sends each message as one frame, however long it is.

use super::limits::{READ_BUFFER_BYTES, READ_BYTES_MAX};
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use readmark_http::Problem;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

/// The subprotocol that is spoken.
const SUBPROTOCOL: &str = "readmark.v1";

/// The server's end of a connection.
pub(super) type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// A request for a WebSocket (RFC 6455, 4.2.1).
pub(super) struct Upgrade {
    accept: HeaderValue,
    is_subprotocol_offered: bool,
    on_upgrade: OnUpgrade,
}

impl<S: Send + Sync> FromRequestParts<S> for Upgrade {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let headers = &parts.headers;
        let fault = if parts.method != Method::GET {
            Some("the method is not GET")
        } else if !lists(headers, &header::CONNECTION, "upgrade") {
            Some("the header Connection has no upgrade")
        } else if !lists(headers, &header::UPGRADE, "websocket") {
            Some("the header Upgrade has no websocket")
        } else if !lists(headers, &header::SEC_WEBSOCKET_VERSION, "13") {
            Some("the header Sec-WebSocket-Version is not 13")
        } else {
            None
        };
        if let Some(fault) = fault {
            return Err(none(fault));
        }
        let key = headers.get(header::SEC_WEBSOCKET_KEY);
        let key = key.ok_or_else(|| none("there is no header Sec-WebSocket-Key"))?;
        let accept = HeaderValue::try_from(derive_accept_key(key.as_bytes()))
            .map_err(|_| none("the header Sec-WebSocket-Key can't be used"))?;
        let is_subprotocol_offered = lists(headers, &header::SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL);
        let on_upgrade = parts.extensions.remove::<OnUpgrade>();
        let on_upgrade = on_upgrade.ok_or_else(|| none("the connection can't become one"))?;
        Ok(Self { accept, is_subprotocol_offered, on_upgrade })
    }
}

fn none(fault: &str) -> Problem {
    Problem::malformed(format!("this is no WebSocket: {fault}"))
}

/// Is the word among those that a header lists?
fn lists(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    values.into_iter().any(|listed| listed.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
}

impl Upgrade {
    /// Answers that the connection becomes a WebSocket, and serves it from then on.
    pub fn answer<F>(self, serve: impl FnOnce(Socket) -> F + Send + 'static) -> Response
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let Self { accept, is_subprotocol_offered, on_upgrade } = self;
        tokio::spawn(async move {
            // A client that is gone before it has the answer needs none.
            if let Ok(upgraded) = on_upgrade.await {
                let io = TokioIo::new(upgraded);
                serve(WebSocketStream::from_raw_socket(io, Role::Server, Some(config())).await).await;
            }
        });
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
        if is_subprotocol_offered {
            headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
        }
        response
    }
}

fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        // Every frame is written at once, so none waits.
        .write_buffer_size(0)
        .max_message_size(Some(READ_BYTES_MAX))
        .max_frame_size(Some(READ_BYTES_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_list_words_in_any_case_and_in_several_lines() {
        let mut headers = HeaderMap::new();
        headers.append(header::CONNECTION, HeaderValue::from_static("keep-alive, Upgrade"));
        headers.append(header::CONNECTION, HeaderValue::from_static("x"));
        for (word, is_listed) in [("upgrade", true), ("x", true), ("keep", false), ("", false)] {
            assert_eq!(lists(&headers, &header::CONNECTION, word), is_listed, "{word}");
        }
        assert!(!lists(&headers, &header::UPGRADE, "websocket"));
    }
}
