use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use prometheus::{IntCounterVec, Opts, Registry};

/// Metrics of the HTTP server.
#[derive(Clone)]
pub struct HttpMetrics {
    requests: IntCounterVec,
}

impl HttpMetrics {
    /// Registers them.
    ///
    /// # Errors
    /// When they are registered already.
    pub fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let opts = Opts::new(
            "readmark_http_requests_total",
            "HTTP requests answered, by matched path (unmatched for none) and status.",
        );
        let requests = IntCounterVec::new(opts, &["route", "status"])?;
        // Before the first answer there is a series already: dashboards and checks find the name.
        requests.with_label_values(&["unmatched", "404"]);
        registry.register(Box::new(requests.clone()))?;
        Ok(Self { requests })
    }
}

/// Counts an answer. The label is the pattern of the path, never the path itself: that has no bound.
pub(crate) async fn count(
    State(metrics): State<HttpMetrics>,
    matched: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let response = next.run(request).await;
    let route = matched.as_ref().map_or("unmatched", MatchedPath::as_str);
    metrics.requests.with_label_values(&[route, response.status().as_str()]).inc();
    response
}
