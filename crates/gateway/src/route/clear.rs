use crate::append::record;
use crate::standing::{Refusal, Standing};
use crate::state::Gateway;
use axum::extract::State;
use axum::http::StatusCode;
use readmark_domain::fact::{Cleared, FlagSet, MarkFact};
use readmark_domain::id::{ConversationId, Seq, Uid, seq_or_zero};
use readmark_http::{ConversationPath, Json, Problem, User, openapi_schemas};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Up to where.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(super) struct Clear {
    /// The last message cleared; without it, the head that the gateway knows.
    #[serde(default)]
    up_to_seq: Option<Seq>,
}

/// The clearing is durable.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(super) struct ClearAccepted {
    /// Up to where, 0 when there is no message yet.
    #[serde(with = "seq_or_zero")]
    #[schemars(schema_with = "seq_or_zero::schema")]
    cleared_seq: Seq,
}

openapi_schemas!(Clear, ClearAccepted);

impl Gateway {
    async fn check_clear(
        &self,
        uid: Uid,
        id: &ConversationId,
        seq: Option<Seq>,
    ) -> Result<Result<Standing, Refusal>, Problem> {
        Ok(self.standing(uid, id).await?.and_then(|standing| match seq {
            Some(seq) if seq > standing.conversation.head => Err(Refusal::NotThere(vec![(None, seq)])),
            Some(_) | None => Ok(standing),
        }))
    }
}

/// Clears a conversation: nothing up to there is unread any more, and no receipts are made.
#[utoipa::path(
    post,
    path = "/v1/conversations/{id}/clear",
    tag = "readers",
    params(("id" = String, Path, description = "The conversation")),
    request_body = Clear,
    responses(
        (status = 202, body = ClearAccepted),
        (status = "4XX", response = readmark_http::ProblemBody),
        (status = "5XX", response = readmark_http::ProblemBody)
    ),
    security(("bearer" = []))
)]
pub(super) async fn post_clear(
    user: User,
    ConversationPath(conversation_id): ConversationPath,
    State(gateway): State<Arc<Gateway>>,
    Json(body): Json<Clear>,
) -> Result<(StatusCode, axum::Json<ClearAccepted>), Problem> {
    let accepted_at = gateway.ports.clock.now();
    let look = || gateway.check_clear(user.uid, &conversation_id, body.up_to_seq);
    let standing = gateway.for_sure(&conversation_id, look).await?;
    let cleared_seq = body.up_to_seq.unwrap_or(standing.conversation.head);
    let (uid, endpoint) = (user.uid, user.endpoint);
    let occurred_at = gateway.orders.next(uid, gateway.ports.clock.now());
    // Where there is no message there is nothing to clear but the flag.
    let fact = if cleared_seq == Seq::ZERO {
        MarkFact::MarkedUnread(FlagSet { uid, conversation_id, value: false, endpoint, occurred_at })
    } else {
        MarkFact::Cleared(Cleared { uid, conversation_id, up_to_seq: cleared_seq, endpoint, occurred_at })
    };
    gateway.append(vec![record(&fact, accepted_at)?]).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(ClearAccepted { cleared_seq })))
}
