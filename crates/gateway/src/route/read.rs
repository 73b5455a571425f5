use crate::append::record;
use crate::standing::{Refusal, Standing};
use crate::state::Gateway;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use readmark_domain::fact::{MarkFact, ReadUpTo};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::verdict::Place;
use readmark_http::{ConversationPath, Decimal, Json, Params, Problem, User, Wait, openapi_schemas};
use readmark_sync::derived_numbers;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How far the caller has read.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(super) struct Read {
    /// The last message read.
    up_to_seq: Seq,
}

/// What to wait for.
#[derive(Debug, Deserialize)]
pub(super) struct WaitParams {
    wait: Option<WaitFor>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WaitFor {
    Applied,
}

/// The mark is durable.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct ReadAccepted {
    /// The greater of what was asked and what is known: a lower bound until applied.
    read_seq: Seq,
}

/// The mark is applied.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(super) struct ReadApplied {
    /// The watermark.
    read_seq: Seq,
    /// What is unread in this conversation.
    unread: Decimal,
    /// What is unread in all.
    total_unread: Decimal,
}

openapi_schemas!(Read, ReadAccepted, ReadApplied);

impl Gateway {
    async fn check_mark(
        &self,
        uid: Uid,
        id: &ConversationId,
        seq: Seq,
    ) -> Result<Result<Standing, Refusal>, Problem> {
        let standing = match self.standing(uid, id).await? {
            Ok(standing) => standing,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let (store, now) = (&*self.ports.store, self.ports.clock.now());
        let places = self.messages.places(store, id, [seq], self.rules.retention, now).await?;
        Ok(match places.get(&seq) {
            Some(Place::Message(..) | Place::Skipped | Place::Expired) => Ok(standing),
            Some(Place::Missing { .. }) | None => Err(Refusal::NotThere(vec![(None, seq)])),
        })
    }

    /// Takes a mark of a user; returns when it is durable.
    pub(crate) async fn accept_read(
        &self,
        user: User,
        id: &ConversationId,
        up_to_seq: Seq,
    ) -> Result<ReadAccepted, Problem> {
        let accepted_at = self.ports.clock.now();
        let standing = self.for_sure(id, || self.check_mark(user.uid, id, up_to_seq)).await?;
        let fact = MarkFact::ReadUpTo(ReadUpTo {
            uid: user.uid,
            conversation_id: id.clone(),
            up_to_seq,
            endpoint: user.endpoint,
            occurred_at: self.orders.next(user.uid, self.ports.clock.now()),
        });
        self.append(vec![record(&fact, accepted_at)?]).await?;
        Ok(ReadAccepted { read_seq: up_to_seq.max(standing.registers.read.seq) })
    }

    /// Waits until the user's watermark has reached `seq`, 2 s at most.
    async fn applied(&self, uid: Uid, id: &ConversationId, seq: Seq) -> Result<Option<ReadApplied>, Problem> {
        let store = &*self.ports.store;
        let mut wait = Wait::new(&*self.ports.clock);
        loop {
            let read_seq = store.user_conversation(uid, id).await?.unwrap_or_default().read.seq;
            if read_seq >= seq {
                let picture = derived_numbers(store, uid).await?;
                let here = picture.rows.iter().find(|one| one.conversation_id == *id).map(|one| one.row);
                return Ok(Some(ReadApplied {
                    read_seq: here.map_or(read_seq, |one| one.read),
                    unread: Decimal(here.map_or(0, |one| one.unread.get())),
                    total_unread: Decimal(picture.total.get()),
                }));
            }
            if !wait.pause().await {
                return Ok(None);
            }
        }
    }
}

/// Reads a conversation up to a message.
#[utoipa::path(
    post,
    path = "/v1/conversations/{id}/read",
    tag = "readers",
    params(
        ("id" = String, Path, description = "The conversation"),
        ("wait" = Option<String>, Query, description = "`applied`: answer when it is applied, after 2 s at most")
    ),
    request_body = Read,
    responses(
        (status = 200, body = ReadApplied),
        (status = 202, body = ReadAccepted),
        (status = "4XX", response = readmark_http::ProblemBody),
        (status = "5XX", response = readmark_http::ProblemBody)
    ),
    security(("bearer" = []))
)]
pub(super) async fn post_read(
    user: User,
    ConversationPath(id): ConversationPath,
    Params(params): Params<WaitParams>,
    State(gateway): State<Arc<Gateway>>,
    Json(body): Json<Read>,
) -> Result<Response, Problem> {
    let uid = user.uid;
    let accepted = gateway.accept_read(user, &id, body.up_to_seq).await?;
    if matches!(params.wait, Some(WaitFor::Applied))
        && let Some(applied) = gateway.applied(uid, &id, body.up_to_seq).await?
    {
        return Ok((StatusCode::OK, axum::Json(applied)).into_response());
    }
    Ok((StatusCode::ACCEPTED, axum::Json(accepted)).into_response())
}
