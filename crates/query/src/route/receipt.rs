use crate::seen::Seen;
use crate::state::Query;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use readmark_domain::counting::TallyVersion;
use readmark_domain::id::{ConversationId, MsgId, Seq, Uid, count};
use readmark_domain::register::ReceiptsMode;
use readmark_http::{MessagePath, Problem, Viewer, openapi_schemas};
use serde::Serialize;
use std::sync::Arc;

/// N/M of a message.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(super) struct Receipt {
    conversation_id: ConversationId,
    seq: Seq,
    msg_id: MsgId,
    sender_uid: Uid,
    /// The conversation's policy.
    mode: ReceiptsMode,
    recalled: bool,
    /// N: readers who count.
    #[serde(with = "count")]
    #[schemars(schema_with = "count::schema")]
    read: u32,
    /// M: members who count.
    #[serde(with = "count")]
    #[schemars(schema_with = "count::schema")]
    total: u32,
    /// Somebody counts, and everybody who counts has read it.
    all_read: bool,
    version: TallyVersion,
}

openapi_schemas!(Receipt);

impl From<&Seen> for Receipt {
    fn from(seen: &Seen) -> Self {
        Self {
            conversation_id: seen.message.conversation_id.clone(),
            seq: seen.message.seq,
            msg_id: seen.message.msg_id,
            sender_uid: seen.message.sender_uid,
            mode: seen.tally.mode,
            recalled: seen.flags.recalled,
            read: seen.tally.read,
            total: seen.tally.total,
            all_read: seen.tally.all_read(),
            version: seen.tally.version,
        }
    }
}

/// `Age`, in whole seconds, when the answer is from rows read earlier.
pub(super) fn age(age_ms: Option<u64>) -> HeaderMap {
    age_ms.map(|ms| (header::AGE, HeaderValue::from(ms.div_ceil(1_000)))).into_iter().collect()
}

/// How many have read a message, out of how many.
#[utoipa::path(
    get,
    path = "/v1/conversations/{id}/messages/{seq}/receipt",
    tag = "senders",
    params(("id" = String, Path, description = "The conversation"), ("seq" = String, Path, description = "The message")),
    responses(
        (status = 200, body = Receipt),
        (status = "4XX", response = readmark_http::ProblemBody),
        (status = "5XX", response = readmark_http::ProblemBody)
    ),
    security(("bearer" = []))
)]
pub(super) async fn get_receipt(
    viewer: Viewer,
    target: MessagePath,
    State(query): State<Arc<Query>>,
) -> Result<(HeaderMap, Json<Receipt>), Problem> {
    let _turn = query.turn().await?;
    let seen = query.see_one(viewer, &target.conversation_id, target.seq).await?;
    Ok((age(seen.age_ms), Json(Receipt::from(&seen))))
}
