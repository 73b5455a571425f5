use crate::state::Gateway;
use axum::extract::State;
use axum::http::StatusCode;
use readmark_domain::fact::MarkFact;
use readmark_http::{ConversationPath, Json, Problem, User, openapi_schemas};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The flag.
#[derive(Debug, Deserialize, Serialize, schemars::JsonSchema)]
pub(super) struct Mute {
    /// Set, or taken away.
    muted: bool,
}

openapi_schemas!(Mute);

/// Mutes a conversation: it leaves the caller's totals, its own numbers stay.
#[utoipa::path(
    post,
    path = "/v1/conversations/{id}/mute",
    tag = "readers",
    params(("id" = String, Path, description = "The conversation")),
    request_body = Mute,
    responses(
        (status = 202, body = Mute),
        (status = "4XX", response = readmark_http::ProblemBody),
        (status = "5XX", response = readmark_http::ProblemBody)
    ),
    security(("bearer" = []))
)]
pub(super) async fn post_mute(
    user: User,
    ConversationPath(conversation_id): ConversationPath,
    State(gateway): State<Arc<Gateway>>,
    Json(body): Json<Mute>,
) -> Result<(StatusCode, axum::Json<Mute>), Problem> {
    gateway.set_flag(user, conversation_id, body.muted, MarkFact::Muted).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(body)))
}
