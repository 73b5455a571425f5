//! The operator's routes: `/healthz`, `/readyz`, `/metrics`, `/openapi.json`. No token.

use crate::problem::{Item, Kind, Problem};
use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use prometheus::{Registry, TextEncoder};
use readmark_log::EventLog;
use readmark_store::ReceiptStore;
use std::sync::Arc;
use std::time::Duration;

/// How long one check may take before its part counts as away.
const CHECK_LIMIT: Duration = Duration::from_secs(2);

/// A part this process needs, and how to ask whether it answers.
#[derive(Clone)]
pub struct Check {
    name: String,
    ask: Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>,
}

impl Check {
    /// A check; its error says in words what is missing.
    pub fn new(
        name: impl Into<String>,
        ask: impl Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), ask: Arc::new(ask) }
    }

    /// Does the event log answer?
    #[must_use]
    pub fn log(log: Arc<dyn EventLog>) -> Self {
        Self::new("log", move || {
            let log = log.clone();
            async move { log.probe().await.map_err(|error| error.to_string()) }.boxed()
        })
    }

    /// Does the store answer?
    #[must_use]
    pub fn store(store: Arc<dyn ReceiptStore>) -> Self {
        Self::new("store", move || {
            let store = store.clone();
            async move { store.probe().await.map_err(|error| error.to_string()) }.boxed()
        })
    }

    async fn missing(&self) -> Option<Item> {
        let detail = match tokio::time::timeout(CHECK_LIMIT, (self.ask)()).await {
            Ok(Ok(())) => return None,
            Ok(Err(detail)) => detail,
            Err(_) => format!("no answer within {} s", CHECK_LIMIT.as_secs()),
        };
        Some(Item { index: None, field: Some(self.name.clone()), detail })
    }
}

/// What the operator's routes show.
#[derive(Clone)]
pub struct OperationParts {
    /// What this process needs.
    pub checks: Vec<Check>,
    /// Its metrics.
    pub registry: Registry,
    /// Its calls.
    pub openapi: utoipa::openapi::OpenApi,
}

#[derive(utoipa::OpenApi)]
#[openapi(paths(healthz, readyz, metrics, openapi))]
pub(crate) struct Piece;

pub(crate) fn routes(parts: OperationParts) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(openapi))
        .with_state(Arc::new(parts))
}

/// Does the process live?
#[utoipa::path(get, path = "/healthz", tag = "operation", responses((status = 200, description = "It lives.")))]
async fn healthz() -> &'static str {
    "ok\n"
}

/// Does every part that this process needs answer?
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "operation",
    responses(
        (status = 200, description = "Ready."),
        (status = 503, response = crate::problem::ProblemBody)
    )
)]
async fn readyz(State(parts): State<Arc<OperationParts>>) -> Response {
    let missing: Vec<Item> =
        join_all(parts.checks.iter().map(Check::missing)).await.into_iter().flatten().collect();
    if missing.is_empty() {
        return "ready\n".into_response();
    }
    let names: Vec<&str> = missing.iter().filter_map(|item| item.field.as_deref()).collect();
    Problem::new(Kind::NotReady, format!("missing: {}", names.join(", "))).with_items(missing).into_response()
}

/// The metrics of this process.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "operation",
    responses((status = 200, content_type = "text/plain", description = "Prometheus text."))
)]
async fn metrics(State(parts): State<Arc<OperationParts>>) -> Response {
    match TextEncoder::new().encode_to_string(&parts.registry.gather()) {
        Ok(text) => ([(header::CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "metrics can't be written");
            Problem::new(Kind::Internal, "metrics can't be written").into_response()
        }
    }
}

/// This description.
#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "operation",
    responses((status = 200, content_type = "application/json", description = "OpenAPI 3.1."))
)]
async fn openapi(State(parts): State<Arc<OperationParts>>) -> Response {
    axum::Json(&parts.openapi).into_response()
}
