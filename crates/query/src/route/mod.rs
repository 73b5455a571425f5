//! The calls, one file each.

mod readers;
mod receipt;
mod receipts_query;
mod sync;
mod unread;

use crate::state::Query;
use axum::Router;
use axum::routing::{get, post};
use std::sync::Arc;
use utoipa::OpenApi;

/// The calls of this role.
pub fn routes(query: Arc<Query>) -> Router {
    Router::new()
        .route("/v1/conversations/{id}/messages/{seq}/receipt", get(receipt::get_receipt))
        .route("/v1/conversations/{id}/messages/{seq}/readers", get(readers::get_readers))
        .route("/v1/conversations/{id}/messages/{seq}/unread-members", get(readers::get_unread_members))
        .route("/v1/receipts/query", post(receipts_query::query_receipts))
        .route("/v1/unread", get(unread::get_unread))
        .route("/v1/sync", get(sync::get_sync))
        .with_state(query)
}

#[derive(OpenApi)]
#[openapi(paths(
    receipt::get_receipt,
    readers::get_readers,
    readers::get_unread_members,
    receipts_query::query_receipts,
    unread::get_unread,
    sync::get_sync
))]
struct Piece;

/// Their description.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    Piece::openapi()
}
