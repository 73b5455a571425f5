use super::lines::Line;
use super::place::Place;
use crate::exit::Failure;
use crate::http_get::{Answer, http_get};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

/// Does a process serve on this socket?
pub(crate) async fn is_served(socket: &Path) -> bool {
    open(socket).await.is_ok()
}

/// Asks the running process.
pub(crate) async fn get(socket: &Path, path_and_query: &str) -> Result<Vec<u8>, Failure> {
    let Answer { status, body } =
        http_get(connect(socket).await?, path_and_query).await.map_err(Failure::failed)?;
    if status == StatusCode::OK { Ok(body.into_bytes()) } else { Err(Failure::failed(body)) }
}

async fn connect(socket: &Path) -> Result<UnixStream, Failure> {
    open(socket).await.map_err(|error| {
        Failure::failed(format!("the process behind {} does not answer: {error}", socket.display()))
    })
}

async fn open(socket: &Path) -> std::io::Result<UnixStream> {
    let place = Place::of(socket)?;
    UnixStream::connect(place.path()).await
}

/// Tells the running process something and gives its answer.
pub(crate) async fn post(socket: &Path, path: &str, body: &impl Serialize) -> Result<Vec<u8>, Failure> {
    let answer = send(socket, path, body).await?.into_body();
    Ok(answer.collect().await.map_err(Failure::failed)?.to_bytes().to_vec())
}

/// Has the running process do long work, and follows it to its end; `None` when `stop` was cancelled before: then the
/// process stops the work, too.
pub(crate) async fn follow<P: DeserializeOwned, E: DeserializeOwned>(
    socket: &Path,
    path: &str,
    body: &impl Serialize,
    on_progress: &mut (dyn FnMut(P) + Send),
    stop: &CancellationToken,
) -> Result<Option<E>, Failure> {
    let mut answer = send(socket, path, body).await?.into_body();
    let mut waiting: Vec<u8> = Vec::new();
    loop {
        let Some(frame) = stop.run_until_cancelled(answer.frame()).await else { return Ok(None) };
        let Some(frame) = frame else { return Err(Failure::failed("the process ended before its work did")) };
        if let Ok(data) = frame.map_err(Failure::failed)?.into_data() {
            waiting.extend_from_slice(&data);
        }
        while let Some(end) = waiting.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = waiting.drain(..=end).collect();
            match serde_json::from_slice(&line).map_err(Failure::failed)? {
                Line::Progress(value) => on_progress(serde_json::from_value(value).map_err(Failure::failed)?),
                Line::Ended(value) => {
                    return serde_json::from_value(value).map(Some).map_err(Failure::failed);
                }
                Line::Refused { usage: true, words } => return Err(Failure::usage(words)),
                Line::Refused { usage: false, words } => return Err(Failure::failed(words)),
            }
        }
    }
}

/// Sends one request on a connection of its own.
async fn send(socket: &Path, path: &str, body: &impl Serialize) -> Result<Response<Incoming>, Failure> {
    let body = serde_json::to_vec(body).map_err(Failure::failed)?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(connect(socket).await?))
            .await
            .map_err(Failure::failed)?;
    tokio::spawn(connection);
    let request = Request::post(path)
        .header("host", "readmark")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body)))
        .map_err(Failure::failed)?;
    let response = sender.send_request(request).await.map_err(Failure::failed)?;
    if response.status() == StatusCode::OK {
        return Ok(response);
    }
    let words = response.into_body().collect().await.map_err(Failure::failed)?.to_bytes();
    Err(Failure::failed(String::from_utf8_lossy(&words)))
}
