use crate::append::record;
use crate::state::Gateway;
use axum::extract::State;
use axum::http::StatusCode;
use readmark_domain::fact::{MarkFact, UserSettings};
use readmark_http::{Json, Problem, User, openapi_schemas};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The caller's settings.
#[derive(Debug, Deserialize, Serialize, schemars::JsonSchema)]
pub(super) struct Settings {
    /// Do others see what the caller has read?
    receipts: bool,
}

openapi_schemas!(Settings);

/// Switches the caller's receipts on or off, everywhere.
#[utoipa::path(
    put,
    path = "/v1/settings",
    tag = "readers",
    request_body = Settings,
    responses(
        (status = 202, body = Settings),
        (status = "4XX", response = readmark_http::ProblemBody),
        (status = "5XX", response = readmark_http::ProblemBody)
    ),
    security(("bearer" = []))
)]
pub(super) async fn put_settings(
    user: User,
    State(gateway): State<Arc<Gateway>>,
    Json(settings): Json<Settings>,
) -> Result<(StatusCode, axum::Json<Settings>), Problem> {
    let accepted_at = gateway.ports.clock.now();
    let occurred_at = gateway.orders.next(user.uid, accepted_at);
    let fact =
        MarkFact::UserSettings(UserSettings { uid: user.uid, receipts: settings.receipts, occurred_at });
    gateway.append(vec![record(&fact, accepted_at)?]).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(settings)))
}
