//! One router out of the roles' calls and the operator's, with everything around them.

use crate::auth::{Scope, Verifier};
use crate::bearer::bearer;
use crate::limits::{Allowance, Limiter, RateLimit};
use crate::metrics::{self, HttpMetrics};
use crate::operation::{self, OperationParts};
use crate::problem::{Kind, Problem};
use crate::settings::HttpSettings;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use readmark_runtime::clock::Clock;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tower_http::cors::CorsLayer;

/// How long a browser may keep the answer to a preflight.
const PREFLIGHT_MAX_AGE: Duration = Duration::from_secs(600);

/// What is put around the calls.
#[derive(Clone)]
pub struct AppParts {
    /// Checks tokens.
    pub verifier: Arc<Verifier>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Limits.
    pub settings: HttpSettings,
    /// Counts answers.
    pub metrics: HttpMetrics,
}

/// The whole application: `calls` behind tokens and limits, `operation` (when it belongs on this address)
/// without; anything else is a 404. Give either alone for an address of its own.
///
/// # Errors
/// Names an allowed origin that is none.
pub fn app(parts: &AppParts, calls: Router, operation: Option<OperationParts>) -> Result<Router, String> {
    let settings = &parts.settings;
    let gate = Gate {
        verifier: parts.verifier.clone(),
        clock: parts.clock.clone(),
        limiter: Arc::new(Limiter::new(RateLimit {
            per_s: settings.user_requests_per_s,
            burst: settings.user_burst,
        })),
    };
    let shed = Shed {
        permits: Arc::new(Semaphore::new(settings.max_in_flight)),
        limit: Duration::from_millis(settings.request_timeout_ms),
    };
    let mut router =
        calls.layer(from_fn_with_state(gate, authenticate)).layer(from_fn_with_state(shed, bound));
    if let Some(operation) = operation {
        router = router.merge(operation::routes(operation));
    }
    router = router
        .fallback(async || Problem::new(Kind::NoSuchRoute, "no such path; see /openapi.json"))
        .method_not_allowed_fallback(async || {
            Problem::new(Kind::MethodNotAllowed, "no such method on this path")
        });
    if let Some(cors) = cors(&settings.allowed_origins)? {
        router = router.layer(cors);
    }
    Ok(router.layer(from_fn_with_state(parts.metrics.clone(), metrics::count)))
}

fn cors(origins: &[String]) -> Result<Option<CorsLayer>, String> {
    if origins.is_empty() {
        return Ok(None);
    }
    let origins: Vec<HeaderValue> =
        origins.iter().map(|origin| parse_origin(origin)).collect::<Result<_, _>>()?;
    let exposed: [HeaderName; 2] = [header::AGE, header::RETRY_AFTER];
    Ok(Some(
        CorsLayer::new()
            .allow_origin(origins)
            .allow_methods([Method::GET, Method::POST, Method::PUT])
            .allow_headers([header::AUTHORIZATION, header::CONTENT_TYPE])
            .expose_headers(exposed)
            .max_age(PREFLIGHT_MAX_AGE),
    ))
}

/// An origin the way browsers send it: a scheme and a host, no path and no wildcard.
///
/// # Errors
/// Says what is wrong with it.
pub fn parse_origin(origin: &str) -> Result<HeaderValue, String> {
    let host = origin.split_once("://").map_or("", |(_, host)| host);
    let is_origin = !host.is_empty() && !host.contains(['*', '/']);
    let value = origin.parse::<HeaderValue>().ok().filter(|_| is_origin);
    value.ok_or_else(|| {
        format!("{origin:?} is no origin: name each one without a path, as in https://chat.example")
    })
}

#[derive(Clone)]
struct Shed {
    permits: Arc<Semaphore>,
    limit: Duration,
}

/// Bounds requests in number and time. Nothing queues: what is too much is told to come back.
async fn bound(State(shed): State<Shed>, request: Request, next: Next) -> Result<Response, Problem> {
    let Ok(_permit) = shed.permits.try_acquire() else {
        return Err(Problem::new(Kind::Overloaded, "too many requests are being handled"));
    };
    tokio::time::timeout(shed.limit, next.run(request))
        .await
        .map_err(|_| Problem::new(Kind::Overloaded, "the request took too long"))
}

#[derive(Clone)]
struct Gate {
    verifier: Arc<Verifier>,
    clock: Arc<dyn Clock>,
    limiter: Arc<Limiter>,
}

/// Finds out who calls, and how often.
async fn authenticate(
    State(gate): State<Gate>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let caller = bearer(request.headers())
        .and_then(|token| gate.verifier.verify(token, gate.clock.now()))
        .map_err(|error| Problem::new(Kind::Unauthenticated, error.to_string()))?;
    if caller.scope == Scope::User {
        let allowance =
            Allowance { limiter: gate.limiter.clone(), clock: gate.clock.clone(), uid: caller.uid };
        allowance.take()?;
        request.extensions_mut().insert(allowance);
    }
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}
