//! `GET /v1/ws`: connections on which devices follow their user's stream, and hand in acks and marks.
//!
//! A connection has no queue: what waits for it is the stream itself, read from the client's token on when the
//! client has taken what came before. A slow client so costs nothing but its own lateness, until it is closed.

mod close;
mod connection;
mod follow;
mod frame;
mod hub;
mod limits;
mod metrics;
mod pieces;
mod schema;
mod sockets;
mod upgrade;

pub use metrics::LiveMetrics;
pub use schema::{client_frame_schema, close_codes, server_frame_schema};
pub use sockets::Sockets;

use axum::Router;
use axum::routing::get;
use std::sync::Arc;
use utoipa::OpenApi;

/// The call that opens a connection.
pub fn routes(sockets: Arc<Sockets>) -> Router {
    Router::new().route("/v1/ws", get(sockets::get_ws)).with_state(sockets)
}

#[derive(OpenApi)]
#[openapi(paths(sockets::get_ws))]
struct Piece;

/// Its description.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    Piece::openapi()
}
