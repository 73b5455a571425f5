//! Messages that arrive when the head is already at or past them may have missed marks that passed them.
//!
//! A mark writes `claimed` before it looks at any message; a message is written before `claimed` is looked
//! at here. So one of the two always sees the other.

use crate::step::StepError;
use crate::tools::Tools;
use readmark_domain::counting::{Member, Message};
use readmark_domain::fact::{AckFact, MAX_RECORD_RANGES, MAX_RECORD_SEQS, Origin, Receipts};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::read_array::ReadArray;
use readmark_domain::seq_ranges::SeqRanges;
use readmark_domain::verdict::Place;
use readmark_log::NewRecord;
use readmark_store::lookup::places;
use std::collections::{BTreeMap, BTreeSet};

/// (sender, reader) → what the reader's mark had passed.
type Missed = BTreeMap<(Uid, Uid), Vec<Seq>>;

/// The acks of everybody whose mark had passed one of these messages. Recalled messages make none: they take no
/// receipts, so they would be missed again each time that they are delivered again.
pub(crate) async fn late_acks(
    tools: &Tools,
    id: &ConversationId,
    late: Vec<Message>,
) -> Result<Vec<NewRecord>, StepError> {
    if late.is_empty() {
        return Ok(Vec::new());
    }
    let (store, retrier) = (&*tools.ports.store, &tools.retrier);
    let members = retrier.run(|| store.members(id)).await?;
    let seqs: Vec<Seq> = late.iter().map(|message| message.seq).collect();
    let arrays = retrier.run(|| store.read_arrays(id, &seqs)).await?;
    let mut missed = Missed::new();
    for (message, array) in late.iter().zip(&arrays) {
        for member in members.iter().filter(|member| missed_its_mark(member, message, array)) {
            missed.entry((message.sender_uid, member.uid)).or_default().push(message.seq);
        }
    }
    leave_out_recalled(tools, id, &mut missed).await?;
    let occurred_at = tools.ports.clock.now();
    let pieces = missed.into_iter().flat_map(|(of, seqs)| {
        let pieces = SeqRanges::from_seqs(seqs).split(MAX_RECORD_SEQS, MAX_RECORD_RANGES);
        pieces.into_iter().map(move |seqs| (of, seqs))
    });
    let records = pieces.map(|((sender_uid, reader_uid), seqs)| {
        NewRecord::of(&AckFact::Receipts(Receipts {
            sender_uid,
            reader_uid,
            conversation_id: id.clone(),
            seqs,
            endpoint: None,
            origin: Origin::Expansion,
            occurred_at,
        }))
    });
    Ok(records.collect::<Result<_, _>>()?)
}

async fn leave_out_recalled(
    tools: &Tools,
    id: &ConversationId,
    missed: &mut Missed,
) -> Result<(), StepError> {
    let seqs = SeqRanges::from_seqs(missed.values().flatten().copied());
    if seqs.is_empty() {
        return Ok(());
    }
    let (store, retention, now) = (&*tools.ports.store, tools.rules.retention, tools.ports.clock.now());
    let places = tools.retrier.run(|| places(store, id, &seqs, retention, now)).await?;
    let recalled =
        places.into_iter().filter(|(_, place)| matches!(place, Place::Message(_, flags) if flags.recalled));
    let recalled: BTreeSet<Seq> = recalled.map(|(seq, _)| seq).collect();
    missed.values_mut().for_each(|seqs| seqs.retain(|seq| !recalled.contains(seq)));
    missed.retain(|_, seqs| !seqs.is_empty());
    Ok(())
}

/// Did this member mark past the message, before it was there, in a way that makes a receipt?
fn missed_its_mark(member: &Member, message: &Message, array: &ReadArray) -> bool {
    member.has_claimed(message) && !array.contains(member.uid)
}
