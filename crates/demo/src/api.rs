use crate::DemoParts;
use crate::guard::{foreign, is_demo_user};
use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, header};
use axum::response::{IntoResponse, Response};
use readmark_domain::id::{Endpoint, Uid};
use readmark_http::auth::{Claims, Scope, sign};
use readmark_http::{Item, Json, Kind, Problem};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use tower::ServiceExt;

/// How long tokens of the demo last: short, so that their renewal is seen.
const TOKEN_TTL_S: u64 = 600;

/// How long the demo's own token lasts: as long as one request may take.
const SERVICE_TTL_S: u64 = 60;

/// Whose token.
#[derive(Debug, Deserialize)]
pub(crate) struct TokenOf {
    uid: Uid,
    endpoint: Endpoint,
}

/// A token of scope user.
#[derive(Debug, Serialize)]
pub(crate) struct Token {
    token: String,
}

/// Plays the login service.
pub(crate) async fn post_token(
    State(parts): State<Arc<DemoParts>>,
    Json(of): Json<TokenOf>,
) -> Result<axum::Json<Token>, Problem> {
    if !is_demo_user(of.uid) {
        return Err(Problem::new(Kind::Forbidden, "the demo gives tokens of its own users only"));
    }
    let claims = Claims::lasting(of.uid, Scope::User, Some(of.endpoint), parts.clock.now(), TOKEN_TTL_S);
    Ok(axum::Json(Token { token: signed(&parts, &claims)? }))
}

/// Events, as of `POST /v1/events`.
#[derive(Debug, Deserialize)]
pub(crate) struct Events {
    events: Vec<Value>,
}

/// Plays the IM backend: hands events of the demo on to `POST /v1/events`.
pub(crate) async fn post_events(
    State(parts): State<Arc<DemoParts>>,
    Json(body): Json<Events>,
) -> Result<Response, Problem> {
    let faults = body.events.iter().enumerate().filter_map(|(index, event)| {
        foreign(event).map(|detail| Item { index: Some(index), field: None, detail })
    });
    let faults: Vec<Item> = faults.collect();
    if !faults.is_empty() {
        return Err(Problem::new(Kind::Forbidden, "not the demo's").with_items(faults));
    }
    let backend = Uid::new(crate::FIRST_UID).map_err(|error| Problem::malformed(error.to_string()))?;
    let claims = Claims::lasting(backend, Scope::Service, None, parts.clock.now(), SERVICE_TTL_S);
    let request = Request::post("/v1/events")
        .header(header::AUTHORIZATION, format!("Bearer {}", signed(&parts, &claims)?))
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(json!({ "events": body.events }).to_string()))
        .map_err(|error| Problem::malformed(error.to_string()))?;
    match parts.app.clone().oneshot(request).await {
        Ok(answer) => Ok(answer.into_response()),
        Err(never) => match never {},
    }
}

fn signed(parts: &DemoParts, claims: &Claims) -> Result<String, Problem> {
    sign(&parts.secret, claims).map_err(|error| {
        tracing::error!(%error, "a token of the demo can't be signed");
        Problem::new(Kind::Internal, "no token can be signed")
    })
}
