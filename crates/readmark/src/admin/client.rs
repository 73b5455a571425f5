use crate::exit::Failure;
use http_body_util::{BodyExt, Empty};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use std::path::Path;
use tokio::net::UnixStream;

/// Does a process serve on this socket?
pub(crate) async fn is_served(socket: &Path) -> bool {
    UnixStream::connect(socket).await.is_ok()
}

/// Asks the running process.
pub(crate) async fn get(socket: &Path, path_and_query: &str) -> Result<Vec<u8>, Failure> {
    let stream = UnixStream::connect(socket).await.map_err(|error| {
        Failure::failed(format!("the process behind {} does not answer: {error}", socket.display()))
    })?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(Failure::failed)?;
    tokio::spawn(connection);
    let request = Request::get(path_and_query)
        .header("host", "readmark")
        .body(Empty::<bytes::Bytes>::new())
        .map_err(Failure::failed)?;
    let response = sender.send_request(request).await.map_err(Failure::failed)?;
    let status = response.status();
    let body = response.into_body().collect().await.map_err(Failure::failed)?.to_bytes();
    if status == StatusCode::OK {
        return Ok(body.to_vec());
    }
    Err(Failure::failed(String::from_utf8_lossy(&body)))
}
