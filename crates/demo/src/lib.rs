//! The page at `/demo/`: windows of a sender and of readers, which use the public client alone, and a panel that plays
//! the IM backend.
//!
//! A page in a browser has no secret, so two calls stand in for a login service and a backend: `/demo/api/token` and
//! `/demo/api/events`. Both serve demo users (from [`FIRST_UID`] on) and demo conversations (`demo-…`) only: nobody
//! reads or writes anything real through them. They keep nothing, so a page goes on after a restart.

mod api;
mod assets;
mod guard;

pub use guard::{CONVERSATION_PREFIX, FIRST_UID};

use axum::Router;
use axum::routing::{get, post};
use readmark_runtime::clock::Clock;
use std::sync::Arc;

/// What the demo needs.
#[derive(Clone)]
pub struct DemoParts {
    /// The application itself, which the demo calls as anybody would.
    pub app: Router,
    /// Signs the tokens that the application takes.
    pub secret: Arc<[u8]>,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

/// The routes of the demo.
pub fn routes(parts: DemoParts) -> Router {
    Router::new()
        .route("/demo", get(assets::redirect))
        .route("/demo/", get(assets::page))
        .route("/demo/{file}", get(assets::file))
        .route("/demo/api/token", post(api::post_token))
        .route("/demo/api/events", post(api::post_events))
        .with_state(Arc::new(parts))
}
