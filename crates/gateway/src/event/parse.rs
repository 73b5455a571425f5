use super::{AckedEvent, ReadEvent};
use readmark_domain::fact::{ConversationFact, ConversationPolicy, FactError, MarkFact, order_of};
use readmark_domain::time::{OrderSource, TimeMs};
use readmark_events::Fact;
use readmark_http::{Item, parse_item};
use serde::Deserialize;
use serde_json::value::RawValue;

/// An event whose form is right.
#[derive(Debug)]
pub(crate) enum Event {
    Conversation(ConversationFact),
    Mark(MarkFact),
    Acked(AckedEvent),
}

#[derive(Deserialize)]
struct Tag {
    r#type: String,
}

/// Reads one event; the fault names what is wrong with it. `now` is the gateway's clock.
pub(crate) fn parse(index: usize, raw: &RawValue, source: OrderSource, now: TimeMs) -> Result<Event, Item> {
    use ConversationFact as C;
    let Tag { r#type } = parse_item(index, raw)?;
    let event = match r#type.as_str() {
        "message_sent" => Event::Conversation(C::MessageSent(parse_item(index, raw)?)),
        "message_recalled" => Event::Conversation(C::MessageRecalled(parse_item(index, raw)?)),
        "seq_skipped" => Event::Conversation(C::SeqSkipped(parse_item(index, raw)?)),
        "member_joined" => Event::Conversation(C::MemberJoined(parse_item(index, raw)?)),
        "member_left" => Event::Conversation(C::MemberLeft(parse_item(index, raw)?)),
        "conversation_closed" => Event::Conversation(C::ConversationClosed(parse_item(index, raw)?)),
        "conversation_policy" => {
            let policy = stamped(parse_item(index, raw)?, source, now);
            Event::Conversation(C::ConversationPolicy(policy))
        }
        "user_settings" => Event::Mark(MarkFact::UserSettings(parse_item(index, raw)?)),
        "acked" => Event::Acked(parse_item(index, raw)?),
        "read" => Event::Mark(MarkFact::from(parse_item::<ReadEvent>(index, raw)?)),
        other => {
            let shown: String = other.chars().take(64).collect();
            return Err(fault(index, Some("type"), format!("no event has the type {shown:?}")));
        }
    };
    check(&event, source, now).map_err(|(field, detail)| fault(index, field, detail))?;
    Ok(event)
}

fn fault(index: usize, field: Option<&str>, detail: String) -> Item {
    Item { index: Some(index), field: field.map(str::to_owned), detail }
}

/// Where versions are the order, a policy may come without a time, which its *since* needs: the clock's.
fn stamped(mut policy: ConversationPolicy, source: OrderSource, now: TimeMs) -> ConversationPolicy {
    if source == OrderSource::Version {
        policy.occurred_at.get_or_insert(now);
    }
    policy
}

fn check(event: &Event, source: OrderSource, now: TimeMs) -> Result<(), (Option<&'static str>, String)> {
    let (occurred_at, checked) = match event {
        Event::Conversation(fact) => {
            (fact.occurred_at(), fact.check().and_then(|()| check_order(fact, source)))
        }
        Event::Mark(fact) => (Some(fact.occurred_at()), fact.check()),
        Event::Acked(event) => {
            event.check().map_err(|detail| (Some("messages"), detail))?;
            (Some(event.occurred_at), Ok(()))
        }
    };
    checked.map_err(|error| (field_of(&error), error.to_string()))?;
    if occurred_at.is_some_and(|at| at.is_too_far_ahead(now)) {
        return Err((Some("occurred_at"), FactError::TooFarAhead.to_string()));
    }
    Ok(())
}

/// Facts about members, policy and closing carry the order that the installation uses, and no other.
fn check_order(fact: &ConversationFact, source: OrderSource) -> Result<(), FactError> {
    let (occurred_at, version) = match fact {
        ConversationFact::MemberJoined(fact) => (fact.occurred_at, fact.version),
        ConversationFact::MemberLeft(fact) => (fact.occurred_at, fact.version),
        ConversationFact::ConversationClosed(fact) => (fact.occurred_at, fact.version),
        ConversationFact::ConversationPolicy(fact) => (fact.occurred_at, fact.version),
        ConversationFact::MessageSent(_)
        | ConversationFact::MessageRecalled(_)
        | ConversationFact::SeqSkipped(_)
        | ConversationFact::HeadImported(_) => return Ok(()),
    };
    order_of(source, occurred_at, version).map(|_| ())
}

const fn field_of(error: &FactError) -> Option<&'static str> {
    match error {
        FactError::VersionMissing | FactError::VersionUnused => Some("version"),
        FactError::OccurredAtMissing | FactError::TooFarAhead => Some("occurred_at"),
        FactError::TooManyMentions => Some("mentions"),
        FactError::BadSkip | FactError::BadSeqCount | FactError::OwnMessage | FactError::ReadAboveTotal => {
            None
        }
    }
}
