//! A record of this role: what it says, and whether what it needs is there.

use crate::tools::Tools;
use readmark_domain::fact::{AckFact, MarkFact, Origin, Receipts};
use readmark_domain::id::{ConversationId, Seq};
use readmark_domain::verdict::judge;
use readmark_events::{DecodeError, Topic, decode};
use readmark_log::Record;
use readmark_store::StoreError;
use readmark_store::lookup::places;

/// A record of this role with what it says.
#[derive(Debug)]
pub(crate) struct Parcel {
    pub record: Record,
    pub fact: Fact,
    /// How far it has raised the watermark while the rest of it waits.
    pub raised_to: Seq,
}

/// What a record says to this role.
#[derive(Debug)]
pub(crate) enum Fact {
    Receipts(Receipts),
    Mark(MarkFact),
}

/// What a look at the store says about a record.
pub(crate) enum Look {
    /// It can be applied as it is; receipts raise to this seq (zero: to nothing).
    Apply(Seq),
    /// Receipts raise to this seq, but some of their messages are not there yet; or the head is below a mark.
    Wait(Seq),
    /// The aggregator puts the same record among the dead letters, by the same rule.
    Drop,
}

/// What the record says to this role; recounts and expansions say nothing.
pub(crate) fn read(record: &Record) -> Result<Option<Fact>, DecodeError> {
    let key = record.key.as_deref();
    if record.position.partition.topic == Topic::Marks {
        return decode(key, &record.payload).map(|fact| Some(Fact::Mark(fact)));
    }
    Ok(match decode(key, &record.payload)? {
        AckFact::Receipts(receipts) if receipts.origin == Origin::Client => Some(Fact::Receipts(receipts)),
        AckFact::Receipts(_) | AckFact::Recount(_) => None,
    })
}

pub(crate) async fn look_at(tools: &Tools, fact: &Fact) -> Result<Look, StoreError> {
    let store = &*tools.ports.store;
    match fact {
        Fact::Receipts(receipts) => {
            let (id, now) = (&receipts.conversation_id, tools.ports.clock.now());
            let found =
                tools.retrier.run(|| places(store, id, &receipts.seqs, tools.rules.retention, now)).await?;
            Ok(match judge(receipts.sender_uid, found, None) {
                Ok(verdict) if verdict.parked.is_empty() => Look::Apply(verdict.raises_to),
                Ok(verdict) => Look::Wait(verdict.raises_to),
                Err(_) => Look::Drop,
            })
        }
        Fact::Mark(mark) => match needs_head(mark) {
            None => Ok(Look::Apply(Seq::ZERO)),
            Some((id, up_to)) => {
                let head = tools.retrier.run(|| store.conversation(id)).await?.unwrap_or_default().head;
                Ok(if up_to <= head { Look::Apply(Seq::ZERO) } else { Look::Wait(Seq::ZERO) })
            }
        },
    }
}

/// Which head a mark must not be beyond. An import may come before the head it was taken at.
fn needs_head(mark: &MarkFact) -> Option<(&ConversationId, Seq)> {
    match mark {
        MarkFact::ReadUpTo(fact) => Some((&fact.conversation_id, fact.up_to_seq)),
        MarkFact::Cleared(fact) => Some((&fact.conversation_id, fact.up_to_seq)),
        MarkFact::WatermarkImported(fact) => Some((&fact.conversation_id, fact.read_seq)),
        MarkFact::MarkedUnread(_)
        | MarkFact::Muted(_)
        | MarkFact::UserSettings(_)
        | MarkFact::UserErased(_) => None,
    }
}
