//! What becomes of the messages that a reader acknowledges.

use crate::standing::Refusal;
use readmark_domain::id::{Seq, Uid};
use readmark_domain::verdict::Place;
use readmark_http::{Item, Problem};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One message that a reader acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
pub(crate) struct Asked {
    pub seq: Seq,
    /// Who sent it; may be left out, and must be right.
    #[serde(default)]
    pub sender_uid: Option<Uid>,
}

/// Why a message takes no ack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reason {
    OwnMessage,
    BeforeJoin,
    Skipped,
    Expired,
}

/// What is done with an ack.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Messages to be acknowledged, by sender.
    pub accepted: BTreeMap<Uid, Vec<Seq>>,
    /// The others, in the order asked.
    pub ignored: Vec<(Seq, Reason)>,
}

/// Decides. A message named twice is one message. A recalled one is accepted: it takes no receipt, but it
/// raises the mark.
///
/// Outer error: 422, senders that are not the messages'. Inner one: messages that are not there.
pub(crate) fn plan(
    reader: Uid,
    joined: Seq,
    asked: &[Asked],
    places: &BTreeMap<Seq, Place>,
) -> Result<Result<Plan, Refusal>, Problem> {
    let mut plan = Plan::default();
    let (mut wrong, mut missing) = (Vec::new(), Vec::new());
    let mut judged = std::collections::BTreeSet::new();
    for (index, Asked { seq, sender_uid }) in asked.iter().enumerate() {
        let place = places.get(seq);
        if let (Some(Place::Message(message, _)), Some(claimed)) = (place, sender_uid)
            && message.sender_uid != *claimed
        {
            let detail = format!("message {seq} was not sent by {claimed}");
            wrong.push(Item { index: Some(index), field: Some("sender_uid".to_owned()), detail });
        }
        if !judged.insert(*seq) {
            continue;
        }
        match place {
            Some(Place::Message(message, _)) if message.sender_uid == reader => {
                plan.ignored.push((*seq, Reason::OwnMessage));
            }
            _ if *seq <= joined => plan.ignored.push((*seq, Reason::BeforeJoin)),
            Some(Place::Message(message, _)) => {
                plan.accepted.entry(message.sender_uid).or_default().push(*seq)
            }
            Some(Place::Skipped) => plan.ignored.push((*seq, Reason::Skipped)),
            Some(Place::Expired) => plan.ignored.push((*seq, Reason::Expired)),
            Some(Place::Missing { .. }) | None => missing.push((Some(index), *seq)),
        }
    }
    if !wrong.is_empty() {
        return Err(Problem::malformed("sender_uid must be the message's sender").with_items(wrong));
    }
    Ok(if missing.is_empty() { Ok(plan) } else { Err(Refusal::NotThere(missing)) })
}
