//! Serving a router on a listener until told to stop, then draining within a deadline.

use crate::settings::HttpSettings;
use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tower::ServiceExt;

/// A client that has not sent its headers by then holds a connection for nothing.
const HEADER_LIMIT: Duration = Duration::from_secs(30);

/// Pause after a failed accept (no file handles left): the next one would fail at once, too.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `shutdown` resolves; then answers what is in flight, within the deadline of the settings.
/// Returns whether everything was answered in time.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    settings: &HttpSettings,
    shutdown: impl Future<Output = ()>,
) -> bool {
    let (stop, stopped) = watch::channel(false);
    let connections = Arc::new(Semaphore::new(settings.max_connections));
    let mut tasks = JoinSet::new();
    tokio::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = accept(&listener, &connections) => accepted,
        };
        if let Some((stream, permit)) = accepted {
            let (router, stopped) = (router.clone(), stopped.clone());
            tasks.spawn(async move {
                connection(stream, router, stopped).await;
                drop(permit);
            });
        }
        while tasks.try_join_next().is_some() {}
    }
    drop(listener);
    stop.send_replace(true);
    let deadline = Duration::from_millis(settings.drain_ms);
    let drain = async { while tasks.join_next().await.is_some() {} };
    let drained = tokio::time::timeout(deadline, drain).await.is_ok();
    if !drained {
        tracing::warn!(deadline_ms = settings.drain_ms, "requests were cut off: they did not end in time");
    }
    tasks.shutdown().await;
    drained
}

/// Answers on one connection; told to stop, it ends after the request in flight.
async fn connection(stream: TcpStream, router: Router, mut stopped: watch::Receiver<bool>) {
    let service = router.map_request(|request: hyper::Request<Incoming>| request.map(Body::new));
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_LIMIT)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service))
        .with_upgrades();
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = async { drop(stopped.wait_for(|stop| *stop).await) } => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended");
    }
}

/// Takes the next connection, once there is room for it.
async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let permit = connections.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "connection without TCP_NODELAY");
            }
            Some((stream, permit))
        }
        Err(error) => {
            tracing::warn!(%error, "can't accept a connection");
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}
