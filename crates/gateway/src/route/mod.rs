//! The calls, one file each.

mod acks;
mod clear;
mod events;
mod mute;
mod read;
mod settings;
mod unread_mark;

pub(crate) use acks::{Acks, AcksAccepted};
pub(crate) use read::ReadAccepted;

use crate::state::Gateway;
use axum::Router;
use axum::routing::{post, put};
use std::sync::Arc;
use utoipa::OpenApi;

/// The calls of this role.
pub fn routes(gateway: Arc<Gateway>) -> Router {
    Router::new()
        .route("/v1/events", post(events::post_events))
        .route("/v1/acks", post(acks::post_acks))
        .route("/v1/conversations/{id}/read", post(read::post_read))
        .route("/v1/conversations/{id}/clear", post(clear::post_clear))
        .route("/v1/conversations/{id}/unread-mark", post(unread_mark::post_unread_mark))
        .route("/v1/conversations/{id}/mute", post(mute::post_mute))
        .route("/v1/settings", put(settings::put_settings))
        .with_state(gateway)
}

#[derive(OpenApi)]
#[openapi(paths(
    events::post_events,
    acks::post_acks,
    read::post_read,
    clear::post_clear,
    unread_mark::post_unread_mark,
    mute::post_mute,
    settings::put_settings
))]
struct Piece;

/// Their description.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    Piece::openapi()
}
