//! Which users and conversations a record names.

use readmark_domain::fact::{AckFact, ConversationFact, MarkFact};
use readmark_domain::id::{ConversationId, Uid};
use readmark_events::{ConversationChanged, DecodeError, ReadChanged, Topic, decode};
use readmark_log::Record;

/// What a record names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    /// Senders of messages.
    pub senders: Vec<Uid>,
    /// The conversation it is about.
    pub conversation_id: Option<ConversationId>,
}

/// Does any fact of this topic name a sender?
pub(crate) const fn names_senders(topic: Topic) -> bool {
    match topic {
        Topic::ConversationEvents | Topic::Acks | Topic::ConversationChanged | Topic::ReadChanged => true,
        Topic::Marks | Topic::DeadLetters => false,
    }
}

/// Reads a record as a fact of its topic. A dead letter is none.
///
/// # Errors
/// What a role would put it among the dead letters for.
pub(crate) fn named(record: &Record) -> Result<Option<Named>, DecodeError> {
    let (key, payload) = (record.key.as_deref(), &record.payload);
    let named = match record.position.partition.topic {
        Topic::ConversationEvents => in_conversation_fact(&decode(key, payload)?),
        Topic::Acks => in_ack(decode(key, payload)?),
        Topic::Marks => in_mark(decode(key, payload)?),
        Topic::ConversationChanged => in_conversation_changed(&decode(key, payload)?),
        Topic::ReadChanged => in_read_changed(decode(key, payload)?),
        Topic::DeadLetters => return Ok(None),
    };
    Ok(Some(named))
}

fn in_conversation_fact(fact: &ConversationFact) -> Named {
    let senders = match fact {
        ConversationFact::MessageSent(fact) => vec![fact.sender_uid],
        ConversationFact::MessageRecalled(_)
        | ConversationFact::SeqSkipped(_)
        | ConversationFact::MemberJoined(_)
        | ConversationFact::MemberLeft(_)
        | ConversationFact::ConversationClosed(_)
        | ConversationFact::ConversationPolicy(_)
        | ConversationFact::HeadImported(_) => Vec::new(),
    };
    Named { senders, conversation_id: Some(fact.conversation_id().clone()) }
}

fn in_ack(fact: AckFact) -> Named {
    let senders = vec![fact.sender_uid()];
    let conversation_id = match fact {
        AckFact::Receipts(fact) => fact.conversation_id,
        AckFact::Recount(fact) => fact.conversation_id,
    };
    Named { senders, conversation_id: Some(conversation_id) }
}

fn in_mark(fact: MarkFact) -> Named {
    let conversation_id = match fact {
        MarkFact::ReadUpTo(fact) => Some(fact.conversation_id),
        MarkFact::Cleared(fact) => Some(fact.conversation_id),
        MarkFact::MarkedUnread(fact) | MarkFact::Muted(fact) => Some(fact.conversation_id),
        MarkFact::WatermarkImported(fact) => Some(fact.conversation_id),
        MarkFact::UserSettings(_) | MarkFact::UserErased(_) => None,
    };
    Named { senders: Vec::new(), conversation_id }
}

fn in_conversation_changed(told: &ConversationChanged) -> Named {
    let senders = match told {
        ConversationChanged::Head { messages, .. } => {
            messages.iter().map(|message| message.sender_uid).collect()
        }
        ConversationChanged::Uncounted { .. }
        | ConversationChanged::Roster { .. }
        | ConversationChanged::Closed { .. }
        | ConversationChanged::Policy { .. } => Vec::new(),
    };
    Named { senders, conversation_id: Some(told.conversation_id().clone()) }
}

fn in_read_changed(told: ReadChanged) -> Named {
    let (senders, conversation_id) = match told {
        ReadChanged::MessageRead(told) => (vec![told.uid], told.conversation_id),
        ReadChanged::ConversationRead(told) => (Vec::new(), told.conversation_id),
        ReadChanged::FlagsChanged(told) => (Vec::new(), told.conversation_id),
    };
    Named { senders, conversation_id: Some(conversation_id) }
}
