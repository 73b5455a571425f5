use crate::state::Gateway;
use axum::extract::State;
use axum::http::StatusCode;
use readmark_domain::fact::MarkFact;
use readmark_http::{ConversationPath, Json, Problem, User, openapi_schemas};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The flag.
#[derive(Debug, Deserialize, Serialize, schemars::JsonSchema)]
pub(super) struct UnreadMark {
    /// Set, or taken away.
    marked: bool,
}

openapi_schemas!(UnreadMark);

/// Marks a conversation as unread by hand. The watermark stays where it is; a later read or clear takes the flag
/// away, also at an unchanged seq.
#[utoipa::path(
    post,
    path = "/v1/conversations/{id}/unread-mark",
    tag = "readers",
    params(("id" = String, Path, description = "The conversation")),
    request_body = UnreadMark,
    responses(
        (status = 202, body = UnreadMark),
        (status = "4XX", response = readmark_http::ProblemBody),
        (status = "5XX", response = readmark_http::ProblemBody)
    ),
    security(("bearer" = []))
)]
pub(super) async fn post_unread_mark(
    user: User,
    ConversationPath(conversation_id): ConversationPath,
    State(gateway): State<Arc<Gateway>>,
    Json(body): Json<UnreadMark>,
) -> Result<(StatusCode, axum::Json<UnreadMark>), Problem> {
    gateway.set_flag(user, conversation_id, body.marked, MarkFact::MarkedUnread).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(body)))
}
