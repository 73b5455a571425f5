//! Who has read what, straight from the list of facts: no merges, no parking, no order.

use crate::case::Fact;
use crate::model::State;
use readmark_domain::counting::{Member, Message};
use readmark_domain::fact::{AckFact, ConversationFact, MarkFact};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::invariant::{Excuse, NothingLost};
use readmark_domain::register::ReceiptsMode;

/// Nobody counts for a message sent before receipts were switched off. Whoever counts for a message and has said to have read it is in its read array; nobody else who counts is.
/// No watermark is below the greatest mark within the head.
pub fn check(facts: &[Fact], state: &State) -> Result<(), String> {
    for (id, conversation) in &state.conversations {
        let roster = conversation.roster();
        for sent in conversation.seqs.values() {
            let Some(message) = &sent.message else { continue };
            for member in conversation.members.values().filter(|member| roster.counts(member.uid, message)) {
                if is_private(facts, member.uid, message) {
                    return Err(format!(
                        "{} counts for {message:?}, sent before receipts were off",
                        member.uid
                    ));
                }
                let said = has_said(facts, member, message, conversation.head);
                let stored = sent.readers.contains(member.uid);
                if stored && !said {
                    return Err(format!("{} never read {message:?}", member.uid));
                }
                let (seq, reader) = (message.seq, member.uid);
                let excuse = (sent.flags.is_void() || !said).then_some(Excuse::Void);
                NothingLost { seq, reader, stored, dead: false, excuse, to_be_told: false, told: false }
                    .check()
                    .map_err(|violation| violation.to_string())?;
            }
        }
        for (uid, user) in &conversation.users {
            let asked = greatest_mark(facts, *uid, id, conversation.head);
            if user.read.seq < asked {
                return Err(format!(
                    "{uid} has read {id} up to {asked}, the watermark says {}",
                    user.read.seq
                ));
            }
        }
    }
    Ok(())
}

/// Was the message sent before some switch of the reader or the conversation to off happened?
fn is_private(facts: &[Fact], reader: Uid, message: &Message) -> bool {
    facts.iter().any(|fact| match fact {
        Fact::ConversationEvents(ConversationFact::ConversationPolicy(policy)) => {
            policy.conversation_id == message.conversation_id
                && policy.receipts == ReceiptsMode::Off
                && policy.occurred_at > Some(message.sent_at)
        }
        Fact::Marks(MarkFact::UserSettings(settings)) => {
            settings.uid == reader && !settings.receipts && settings.occurred_at > message.sent_at
        }
        Fact::Marks(MarkFact::UserErased(erased)) => {
            erased.uid == reader && erased.occurred_at > message.sent_at
        }
        Fact::ConversationEvents(_) | Fact::Acks(_) | Fact::Marks(_) => false,
    })
}

fn has_said(facts: &[Fact], reader: &Member, message: &Message, head: Seq) -> bool {
    facts.iter().any(|fact| match fact {
        Fact::Acks(AckFact::Receipts(ack)) => {
            (ack.reader_uid, ack.sender_uid, &ack.conversation_id)
                == (reader.uid, message.sender_uid, &message.conversation_id)
                && ack.seqs.contains(message.seq)
        }
        Fact::Marks(MarkFact::ReadUpTo(mark)) => {
            (mark.uid, &mark.conversation_id) == (reader.uid, &message.conversation_id)
                && (message.seq..=head).contains(&mark.up_to_seq)
                && reader.imported < message.seq
        }
        Fact::ConversationEvents(_) | Fact::Acks(_) | Fact::Marks(_) => false,
    })
}

fn greatest_mark(facts: &[Fact], reader: Uid, id: &ConversationId, head: Seq) -> Seq {
    let marks = facts.iter().filter_map(|fact| match fact {
        Fact::Marks(MarkFact::ReadUpTo(mark)) if (mark.uid, &mark.conversation_id) == (reader, id) => {
            Some(mark.up_to_seq)
        }
        Fact::ConversationEvents(_) | Fact::Acks(_) | Fact::Marks(_) => None,
    });
    marks.filter(|seq| *seq <= head).max().unwrap_or_default()
}
