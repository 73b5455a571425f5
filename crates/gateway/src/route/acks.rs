use crate::append::record;
use crate::event::receipts;
use crate::plan::{Asked, Plan, Reason, plan};
use crate::standing::Refusal;
use crate::state::Gateway;
use axum::extract::State;
use axum::http::StatusCode;
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_http::{Json, Problem, User, openapi_schemas, parse_item, parse_items};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Most messages in one request.
const MAX_MESSAGES: usize = 1_000;

/// Messages that the caller has read.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Acks {
    conversation_id: ConversationId,
    /// 1 to 1,000.
    #[schemars(with = "Vec<Asked>", length(min = 1, max = 1000))]
    messages: Vec<Box<RawValue>>,
}

/// What is durable.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct AcksAccepted {
    /// How many messages; one named twice counts once.
    accepted: usize,
    /// The others, in the order asked.
    ignored: Vec<Ignored>,
}

/// A message that takes no ack of this reader.
#[derive(Debug, Serialize, schemars::JsonSchema)]
struct Ignored {
    seq: Seq,
    reason: Reason,
}

openapi_schemas!(Acks, AcksAccepted);

impl Gateway {
    async fn plan_acks(
        &self,
        uid: Uid,
        id: &ConversationId,
        asked: &[Asked],
    ) -> Result<Result<Plan, Refusal>, Problem> {
        let standing = match self.standing(uid, id).await? {
            Ok(standing) => standing,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let seqs: BTreeSet<Seq> = asked.iter().map(|asked| asked.seq).collect();
        let (store, now) = (&*self.ports.store, self.ports.clock.now());
        let places = self.messages.places(store, id, seqs, self.rules.retention, now).await?;
        plan(uid, standing.registers.joined, asked, &places)
    }

    /// Takes acks of a user; returns when they are durable.
    pub(crate) async fn accept_acks(&self, user: User, acks: &Acks) -> Result<AcksAccepted, Problem> {
        let accepted_at = self.ports.clock.now();
        let id = &acks.conversation_id;
        let asked: Vec<Asked> = parse_items("messages", &acks.messages, MAX_MESSAGES, parse_item)?;
        let plan = self.for_sure(id, || self.plan_acks(user.uid, id, &asked)).await?;
        let accepted = plan.accepted.values().map(Vec::len).sum();
        if accepted > 0 {
            let occurred_at = self.orders.next(user.uid, self.ports.clock.now());
            let facts = receipts(user.uid, user.endpoint.as_ref(), id, plan.accepted, occurred_at);
            let records = facts.iter().map(|fact| record(fact, accepted_at)).collect::<Result<_, _>>()?;
            self.append(records).await?;
        }
        let ignored = plan.ignored.into_iter().map(|(seq, reason)| Ignored { seq, reason }).collect();
        Ok(AcksAccepted { accepted, ignored })
    }
}

/// Acknowledges messages.
#[utoipa::path(
    post,
    path = "/v1/acks",
    tag = "readers",
    request_body = Acks,
    responses(
        (status = 202, body = AcksAccepted),
        (status = "4XX", response = readmark_http::ProblemBody),
        (status = "5XX", response = readmark_http::ProblemBody)
    ),
    security(("bearer" = []))
)]
pub(super) async fn post_acks(
    user: User,
    State(gateway): State<Arc<Gateway>>,
    Json(body): Json<Acks>,
) -> Result<(StatusCode, axum::Json<AcksAccepted>), Problem> {
    let accepted = gateway.accept_acks(user, &body).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(accepted)))
}
