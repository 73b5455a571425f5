use super::receipt::{Receipt, age};
use crate::seen::Seen;
use crate::state::Query;
use axum::extract::State;
use axum::http::HeaderMap;
use readmark_domain::id::{ConversationId, Seq};
use readmark_domain::seq_ranges::SeqRanges;
use readmark_http::{Json, Problem, Viewer, openapi_schemas, parse_item, parse_items};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most messages in one query.
const MAX_MESSAGES: usize = 200;

/// Which messages.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(super) struct ReceiptsQuery {
    /// 1 to 200.
    #[schemars(with = "Vec<Asked>", length(min = 1, max = 200))]
    messages: Vec<Box<RawValue>>,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
struct Asked {
    conversation_id: ConversationId,
    seq: Seq,
}

/// What is said of each message, in the order asked.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(super) struct ReceiptsAnswer {
    receipts: Vec<OneReceipt>,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
enum OneReceipt {
    Receipt(Receipt),
    Refused {
        conversation_id: ConversationId,
        seq: Seq,
        /// `not_found`, `forbidden` or `receipts_off`.
        error: &'static str,
    },
}

openapi_schemas!(ReceiptsQuery, ReceiptsAnswer);

/// How many have read each of several messages.
#[utoipa::path(
    post,
    path = "/v1/receipts/query",
    tag = "senders",
    request_body = ReceiptsQuery,
    responses(
        (status = 200, body = ReceiptsAnswer),
        (status = "4XX", response = readmark_http::ProblemBody),
        (status = "5XX", response = readmark_http::ProblemBody)
    ),
    security(("bearer" = []))
)]
pub(super) async fn query_receipts(
    viewer: Viewer,
    State(query): State<Arc<Query>>,
    Json(body): Json<ReceiptsQuery>,
) -> Result<(HeaderMap, axum::Json<ReceiptsAnswer>), Problem> {
    let asked: Vec<Asked> = parse_items("messages", &body.messages, MAX_MESSAGES, parse_item)?;
    let mut by_conversation: BTreeMap<ConversationId, Vec<Seq>> = BTreeMap::new();
    for one in &asked {
        by_conversation.entry(one.conversation_id.clone()).or_default().push(one.seq);
    }
    let by_conversation =
        by_conversation.into_iter().map(|(id, seqs)| (id, SeqRanges::from_seqs(seqs))).collect();
    let _turn = query.turn().await?;
    let seen = query.see_for_sure(viewer, &by_conversation).await?;
    let mut age_ms = None;
    let mut receipts = Vec::with_capacity(asked.len());
    for Asked { conversation_id, seq } in asked {
        receipts.push(match seen.get(&conversation_id).and_then(|seen| seen.get(&seq)) {
            Some(Ok(seen)) => {
                age_ms = age_ms.max(seen.age_ms);
                OneReceipt::Receipt(Receipt::from(seen as &Seen))
            }
            Some(Err(refusal)) => OneReceipt::Refused { conversation_id, seq, error: refusal.word() },
            None => OneReceipt::Refused { conversation_id, seq, error: "not_found" },
        });
    }
    Ok((age(age_ms), axum::Json(ReceiptsAnswer { receipts })))
}
