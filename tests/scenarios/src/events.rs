//! Steps that the IM backend says by `POST /v1/events`.

use crate::format::{Sent, Step};
use crate::world::World;
use serde_json::{Value, json};

/// Most events a request may carry.
const MAX_EVENTS: usize = 1_000;
/// Message ids begin here, so that none is mistaken for a seq.
const FIRST_MSG_ID: u64 = 5_000_000;

/// The msg_id of a seq, unless a step says another.
#[must_use]
pub const fn msg_id(seq: u64) -> u64 {
    // Seqs reach up to 10^15, which leaves room.
    FIRST_MSG_ID + seq
}

/// Sends the events of a step in as few requests as may be.
pub async fn send(world: &World, step: &Step, round: u64) {
    let events = of(world, step, round).unwrap_or_else(|| panic!("no event: {step:?}"));
    for part in events.chunks(MAX_EVENTS) {
        world.server.as_service().events(part).await;
    }
}

/// The events of a step; `None` when it is no such step.
#[allow(clippy::wildcard_enum_match_arm, reason = "a new step is either added here or no event")]
pub fn of(world: &World, step: &Step, round: u64) -> Option<Vec<Value>> {
    let per_user = |users: &str, fields: Value| {
        let with_uid = |uid: u64| with(&fields, "uid", json!(uid.to_string()));
        world.uids(users, round).into_iter().map(with_uid).collect::<Vec<_>>()
    };
    let at = |at: &Option<i64>| world.occurred_at(*at);
    Some(match step {
        Step::Join(s) => per_user(
            &s.users,
            ordered(
                s.version,
                json!({"type": "member_joined", "conversation_id": world.conversation(&s.c), "at_seq": s.at_seq.to_string(), "occurred_at": at(&s.at)}),
            ),
        ),
        Step::Leave(s) => per_user(
            &s.users,
            ordered(
                s.version,
                json!({"type": "member_left", "conversation_id": world.conversation(&s.c), "at_seq": s.at_seq.to_string(), "occurred_at": at(&s.at)}),
            ),
        ),
        Step::Settings(s) => per_user(
            &s.users,
            json!({"type": "user_settings", "receipts": s.receipts, "occurred_at": at(&s.at)}),
        ),
        Step::ReadFor(s) => per_user(
            &s.users,
            json!({"type": "read", "endpoint": "phone", "conversation_id": world.conversation(&s.c), "up_to_seq": s.up_to.to_string(), "occurred_at": at(&s.at)}),
        ),
        Step::AckFor(s) => {
            let sender = world.uid(&s.from).to_string();
            let seqs = world.seqs(&s.seqs, round).into_iter();
            let messages: Vec<_> =
                seqs.map(|seq| json!({"seq": seq.to_string(), "sender_uid": sender})).collect();
            per_user(
                &s.users,
                json!({"type": "acked", "endpoint": "phone", "conversation_id": world.conversation(&s.c), "messages": messages, "occurred_at": at(&s.at)}),
            )
        }
        Step::Send(s) => sent(world, s, round),
        Step::Recall(s) => {
            let recalled_at = at(&s.at);
            let recalled = |seq: u64| json!({"type": "message_recalled", "conversation_id": world.conversation(&s.c), "seq": seq.to_string(), "occurred_at": recalled_at});
            world.seqs(&s.seqs, round).into_iter().map(recalled).collect()
        }
        Step::Skip(s) => vec![
            json!({"type": "seq_skipped", "conversation_id": world.conversation(&s.c), "from": s.from.to_string(), "to": s.to.to_string(), "occurred_at": at(&s.at)}),
        ],
        Step::Close(s) => vec![ordered(
            s.version,
            json!({"type": "conversation_closed", "conversation_id": world.conversation(&s.c), "closed": s.closed, "occurred_at": at(&s.at)}),
        )],
        Step::Policy(s) => vec![ordered(
            s.version,
            json!({"type": "conversation_policy", "conversation_id": world.conversation(&s.c), "receipts": s.receipts, "occurred_at": at(&s.at)}),
        )],
        Step::Batch(steps) => {
            let events = steps.iter().map(|step| of(world, step, round));
            events.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect()
        }
        _ => return None,
    })
}

fn sent(world: &World, step: &Sent, round: u64) -> Vec<Value> {
    let seqs = world.seqs(&step.seqs, round);
    let first = step.msg.unwrap_or_else(|| msg_id(seqs[0]));
    let (sender, sent_at) = (world.uid(&step.from).to_string(), world.occurred_at(step.at));
    let mentions: Vec<_> = world.uids(&step.mentions, round).iter().map(u64::to_string).collect();
    let event = |(number, seq): (usize, &u64)| {
        let msg_id = if step.msg.is_some() { first + number as u64 } else { msg_id(*seq) };
        json!({
            "type": "message_sent", "conversation_id": world.conversation(&step.c), "seq": seq.to_string(),
            "msg_id": msg_id.to_string(), "sender_uid": sender, "occurred_at": sent_at,
            "countable": step.countable.unwrap_or(true), "mentions": mentions,
        })
    };
    seqs.iter().enumerate().map(event).collect()
}

/// With a version, where the step gives one.
fn ordered(version: Option<u64>, event: Value) -> Value {
    match version {
        Some(version) => with(&event, "version", json!(version.to_string())),
        None => event,
    }
}

fn with(fields: &Value, name: &str, value: Value) -> Value {
    let mut event = fields.clone();
    event[name] = value;
    event
}
