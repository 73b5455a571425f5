//! HTTP, one request at a time, without any retry.

use crate::reply::Reply;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// Longest wait for one answer. The server's own is 15 s, after which it says 503; beyond four times that it hangs, also
/// on a machine that is too busy to let it run.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// What is sent.
#[derive(Debug, Clone)]
pub struct Call {
    pub method: &'static str,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

impl Call {
    fn request(&self, authority: &str) -> Request<Full<Bytes>> {
        let mut request = Request::builder()
            .method(self.method)
            .uri(format!("http://{authority}{}", self.path))
            .header("host", authority);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request.body(Full::new(self.body.clone())).expect("the test builds a valid request")
    }
}

/// A client with a pool of connections.
#[derive(Clone)]
pub struct Http {
    client: Client<HttpConnector, Full<Bytes>>,
}

impl Default for Http {
    fn default() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self { client: Client::builder(TokioExecutor::new()).build(connector) }
    }
}

impl Http {
    /// Sends; `Err` says why there is no answer.
    pub async fn send(&self, to: SocketAddr, call: &Call) -> Result<Reply, String> {
        let answer = async {
            let response = self.client.request(call.request(&to.to_string())).await.map_err(describe)?;
            read(response).await
        };
        let late = |_| format!("no answer within {ANSWER_WITHIN:?}");
        tokio::time::timeout(ANSWER_WITHIN, answer).await.map_err(late)?
    }
}

/// Sends over a unix socket, on a connection of its own.
pub async fn send_to_socket(path: &Path, call: &Call) -> Result<Reply, String> {
    let stream =
        tokio::net::UnixStream::connect(path).await.map_err(|e| format!("{}: {e}", path.display()))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|e| e.to_string())?;
    let driver = tokio::spawn(connection);
    let response = sender.send_request(call.request("localhost")).await.map_err(|e| e.to_string())?;
    let reply = read(response).await;
    driver.abort();
    reply
}

async fn read(response: hyper::Response<hyper::body::Incoming>) -> Result<Reply, String> {
    let (head, body) = response.into_parts();
    let body = body.collect().await.map_err(|e| e.to_string())?.to_bytes();
    let text = |value: &hyper::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = head.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
    Ok(Reply { status: head.status.as_u16(), headers, body })
}

fn describe(error: hyper_util::client::legacy::Error) -> String {
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}
