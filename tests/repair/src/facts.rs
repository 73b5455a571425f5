//! Facts of one conversation, as a test names them.

use readmark_domain::fact::{
    AckFact, ConversationFact, MarkFact, MemberJoined, MessageSent, Origin, ReadUpTo, Receipts,
};
use readmark_domain::id::{ConversationId, MsgId, Seq, Uid};
use readmark_domain::seq_ranges::SeqRanges;
use readmark_domain::time::TimeMs;
use readmark_log::NewRecord;

/// The conversation.
#[must_use]
pub fn id() -> ConversationId {
    ConversationId::new("c").unwrap()
}

/// A user.
#[must_use]
pub fn uid(n: u64) -> Uid {
    Uid::new(n).unwrap()
}

/// A place.
#[must_use]
pub fn seq(n: u64) -> Seq {
    Seq::new(n).unwrap()
}

/// A user joins from the beginning.
#[must_use]
pub fn joined(user: u64, at: TimeMs) -> NewRecord {
    NewRecord::of(&ConversationFact::MemberJoined(MemberJoined {
        conversation_id: id(),
        uid: uid(user),
        at_seq: Seq::ZERO,
        occurred_at: Some(at),
        version: None,
    }))
    .unwrap()
}

/// A message.
#[must_use]
pub fn message(sender: u64, n: u64, at: TimeMs) -> NewRecord {
    NewRecord::of(&ConversationFact::MessageSent(MessageSent {
        conversation_id: id(),
        seq: seq(n),
        msg_id: MsgId::new(9_000 + n).unwrap(),
        sender_uid: uid(sender),
        occurred_at: at,
        countable: true,
        mentions: Vec::new(),
        mention_all: false,
    }))
    .unwrap()
}

/// A reader's ack of messages of one sender.
#[must_use]
pub fn ack(sender: u64, reader: u64, seqs: &[u64], at: TimeMs) -> NewRecord {
    NewRecord::of(&AckFact::Receipts(Receipts {
        sender_uid: uid(sender),
        reader_uid: uid(reader),
        conversation_id: id(),
        seqs: SeqRanges::from_seqs(seqs.iter().map(|n| seq(*n))),
        endpoint: None,
        origin: Origin::Client,
        occurred_at: at,
    }))
    .unwrap()
}

/// A reader's "read up to".
#[must_use]
pub fn mark(reader: u64, up_to: u64, at: TimeMs) -> NewRecord {
    NewRecord::of(&MarkFact::ReadUpTo(ReadUpTo {
        uid: uid(reader),
        conversation_id: id(),
        up_to_seq: seq(up_to),
        endpoint: None,
        occurred_at: at,
    }))
    .unwrap()
}
