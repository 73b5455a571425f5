use crate::append::record;
use crate::event::{AnyEvent, Event, parse};
use crate::state::Gateway;
use axum::extract::State;
use axum::http::StatusCode;
use readmark_http::{Json, Problem, Service, openapi_schemas, parse_items};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::sync::Arc;

/// Most events in one request.
const MAX_EVENTS: usize = 1_000;

/// What happened in the IM.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(super) struct Events {
    /// 1 to 1,000, in order per conversation.
    #[schemars(with = "Vec<AnyEvent>", length(min = 1, max = 1000))]
    events: Vec<Box<RawValue>>,
}

/// All are durable.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(super) struct EventsAccepted {
    /// How many.
    accepted: usize,
}

openapi_schemas!(Events, EventsAccepted);

/// Hands in events of the IM backend.
#[utoipa::path(
    post,
    path = "/v1/events",
    tag = "backend",
    request_body = Events,
    responses(
        (status = 202, body = EventsAccepted),
        (status = "4XX", response = readmark_http::ProblemBody),
        (status = "5XX", response = readmark_http::ProblemBody)
    ),
    security(("bearer" = []))
)]
pub(super) async fn post_events(
    _: Service,
    State(gateway): State<Arc<Gateway>>,
    Json(body): Json<Events>,
) -> Result<(StatusCode, axum::Json<EventsAccepted>), Problem> {
    let now = gateway.ports.clock.now();
    let source = gateway.rules.order_source;
    let events =
        parse_items("events", &body.events, MAX_EVENTS, |index, raw| parse(index, raw, source, now))?;
    let accepted = events.len();
    let (mut of_conversations, mut of_users) = (Vec::new(), Vec::new());
    for event in events {
        match event {
            Event::Conversation(fact) => of_conversations.push(record(&fact, now)?),
            Event::Mark(fact) => of_users.push(record(&fact, now)?),
            Event::Acked(event) => {
                for fact in event.facts() {
                    of_users.push(record(&fact, now)?);
                }
            }
        }
    }
    // First what conversations are, then what users did in them: a read never lies in the log without the
    // message of its own request.
    gateway.append(of_conversations).await?;
    gateway.append(of_users).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(EventsAccepted { accepted })))
}
