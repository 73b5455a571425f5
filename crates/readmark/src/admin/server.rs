use super::place::Place;
use super::state::AdminState;
use super::{inspect, repair, topics};
use crate::command::dead_letters::ActRequest;
use crate::command::repair::Repair;
use axum::Router;
use axum::routing::{get, post};
use readmark_repair::replay::Replay;
use readmark_runtime::ports::{Ports, Rules};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use tokio::net::UnixListener;
use tokio_util::sync::CancellationToken;

/// Binds the socket for its owner alone. One that a killed process left behind is replaced: the data
/// directory's lock says that nobody else serves it.
pub(crate) fn listen(path: &Path) -> Result<UnixListener, String> {
    let failed = |error: std::io::Error| format!("the socket {}: {error}", path.display());
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let place = Place::of(path).map_err(failed)?;
    let listener = UnixListener::bind(place.path()).map_err(failed)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
    Ok(listener)
}

/// The calls of the socket.
pub(crate) fn routes(ports: Ports, rules: Rules, stop: CancellationToken) -> Router {
    Router::new()
        .route("/inspect/message", get(inspect::message))
        .route("/inspect/conversation", get(inspect::conversation))
        .route("/inspect/user", get(inspect::user))
        .route("/inspect/lag", get(inspect::lag))
        .route("/topics/{topic}", get(topics::read).post(topics::put))
        .route(Replay::PATH, post(repair::carry_out::<Replay>))
        .route("/repair/dead-letters/list", post(repair::list))
        .route(ActRequest::PATH, post(repair::carry_out::<ActRequest>))
        .with_state(Arc::new(AdminState { ports, rules, stop }))
}

/// Serves until `stop`.
pub(crate) async fn serve(listener: UnixListener, router: Router, stop: CancellationToken) {
    let served = axum::serve(listener, router).with_graceful_shutdown(async move { stop.cancelled().await });
    if let Err(error) = served.await {
        tracing::error!(%error, "the operator's socket is gone");
    }
}
