//! One GET on a connection: to the operator's socket, or to a readmark's address.

use http_body_util::{BodyExt, Empty};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use std::fmt::Display;
use tokio::io::{AsyncRead, AsyncWrite};

/// What was answered.
pub(crate) struct Answer {
    pub status: StatusCode,
    pub body: String,
}

/// Asks, and reads the whole answer.
pub(crate) async fn http_get(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    path_and_query: &str,
) -> Result<Answer, String> {
    let words = |error: &dyn Display| error.to_string();
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|error| words(&error))?;
    tokio::spawn(connection);
    let request = Request::get(path_and_query)
        .header("host", "readmark")
        .body(Empty::<bytes::Bytes>::new())
        .map_err(|error| words(&error))?;
    let response = sender.send_request(request).await.map_err(|error| words(&error))?;
    let status = response.status();
    let body = response.into_body().collect().await.map_err(|error| words(&error))?.to_bytes();
    Ok(Answer { status, body: String::from_utf8_lossy(&body).into_owned() })
}
