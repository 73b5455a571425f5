use super::close::Close;
use super::connection::Connection;
use super::hub::Hub;
use super::metrics::LiveMetrics;
use super::upgrade::{Socket, Upgrade};
use crate::settings::GatewaySettings;
use crate::state::Gateway;
use axum::extract::State;
use axum::response::Response;
use readmark_domain::time::TimeMs;
use readmark_hot::HotState;
use readmark_http::{Kind, Problem, Session};
use readmark_sync::Live;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The connections of this process.
pub struct Sockets {
    pub(super) gateway: Arc<Gateway>,
    pub(super) live: Arc<Live>,
    pub(super) metrics: LiveMetrics,
    pub(super) stop: CancellationToken,
    hub: Arc<Hub>,
    room: Arc<Semaphore>,
    open: TaskTracker,
}

impl Sockets {
    /// On these parts; wake-ups come from `hot`. Connections are closed when `stop` is cancelled.
    #[must_use]
    pub fn start(
        gateway: Arc<Gateway>,
        live: Arc<Live>,
        hot: Arc<dyn HotState>,
        settings: &GatewaySettings,
        metrics: LiveMetrics,
        stop: CancellationToken,
    ) -> Arc<Self> {
        let hub = Hub::new(settings.max_connections_per_user);
        tokio::spawn(hub.clone().run(hot, gateway.ports.clock.clone(), stop.clone()));
        let room = Arc::new(Semaphore::new(settings.max_connections));
        Arc::new(Self { gateway, live, metrics, stop, hub, room, open: TaskTracker::new() })
    }

    /// Waits until every connection is closed, once told to stop.
    pub async fn closed(&self) {
        self.open.close();
        self.open.wait().await;
    }

    pub(super) fn now(&self) -> TimeMs {
        self.gateway.ports.clock.now()
    }

    async fn serve(self: Arc<Self>, session: Session, mut socket: Socket, _room: OwnedSemaphorePermit) {
        self.metrics.connections.inc();
        match self.hub.take_seat(session.user.uid).await {
            Some(seat) => Connection::new(self.clone(), session, socket).serve(&seat).await,
            None => Close::TooManyConnections.tell(&mut socket).await,
        }
        self.metrics.connections.dec();
    }
}

/// Opens a connection on which the user's stream is followed; see docs/clients.md.
#[utoipa::path(
    get,
    path = "/v1/ws",
    tag = "live",
    responses(
        (status = 101, description = "A WebSocket, with the subprotocol readmark.v1"),
        (status = "4XX", response = readmark_http::ProblemBody),
        (status = "5XX", response = readmark_http::ProblemBody)
    ),
    security(("bearer" = []))
)]
pub(super) async fn get_ws(
    session: Session,
    State(sockets): State<Arc<Sockets>>,
    upgrade: Upgrade,
) -> Result<Response, Problem> {
    if sockets.stop.is_cancelled() {
        return Err(Problem::new(Kind::Unavailable, "this process stops"));
    }
    let Ok(room) = sockets.room.clone().try_acquire_owned() else {
        return Err(Problem::new(Kind::Overloaded, "too many connections"));
    };
    let open = sockets.open.token();
    Ok(upgrade.answer(async move |socket| {
        sockets.serve(session, socket, room).await;
        drop(open);
    }))
}
