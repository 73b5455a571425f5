use super::clock::START_MS;
use readmark_domain::fact::{
    AckFact, Cleared, ConversationClosed, ConversationFact, FlagSet, MarkFact, MemberJoined, MemberLeft,
    MessageRecalled, MessageSent, Origin, ReadUpTo, Receipts, SeqSkipped,
};
use readmark_domain::id::{ConversationId, Endpoint, MsgId, Seq, Uid};
use readmark_domain::seq_ranges::SeqRanges;
use readmark_domain::time::TimeMs;

pub fn uid(n: u64) -> Uid {
    Uid::new(n).unwrap()
}

pub fn seq(n: u64) -> Seq {
    Seq::new_or_zero(n).unwrap()
}

pub fn conversation(name: &str) -> ConversationId {
    ConversationId::new(name).unwrap()
}

/// A time, in milliseconds after the start of the test.
pub fn at(ms: u64) -> TimeMs {
    TimeMs::new(START_MS + ms).unwrap()
}

pub fn joined(name: &str, user: u64, after: u64, ms: u64) -> ConversationFact {
    ConversationFact::MemberJoined(MemberJoined {
        conversation_id: conversation(name),
        uid: uid(user),
        at_seq: seq(after),
        occurred_at: Some(at(ms)),
        version: None,
    })
}

pub fn left(name: &str, user: u64, ms: u64) -> ConversationFact {
    ConversationFact::MemberLeft(MemberLeft {
        conversation_id: conversation(name),
        uid: uid(user),
        at_seq: Seq::ZERO,
        occurred_at: Some(at(ms)),
        version: None,
    })
}

pub fn sent(name: &str, n: u64, sender: u64) -> MessageSent {
    MessageSent {
        conversation_id: conversation(name),
        seq: seq(n),
        msg_id: MsgId::new(n + 1_000).unwrap(),
        sender_uid: uid(sender),
        occurred_at: at(n),
        countable: true,
        mentions: Vec::new(),
        mention_all: false,
    }
}

pub fn message(name: &str, n: u64, sender: u64) -> ConversationFact {
    ConversationFact::MessageSent(sent(name, n, sender))
}

pub fn recalled(name: &str, n: u64) -> ConversationFact {
    let (conversation_id, occurred_at) = (conversation(name), at(0));
    ConversationFact::MessageRecalled(MessageRecalled { conversation_id, seq: seq(n), occurred_at })
}

pub fn skipped(name: &str, from: u64, to: u64) -> ConversationFact {
    let (conversation_id, occurred_at) = (conversation(name), at(0));
    ConversationFact::SeqSkipped(SeqSkipped { conversation_id, from: seq(from), to: seq(to), occurred_at })
}

pub fn closed(name: &str, is_closed: bool, ms: u64) -> ConversationFact {
    ConversationFact::ConversationClosed(ConversationClosed {
        conversation_id: conversation(name),
        closed: is_closed,
        occurred_at: Some(at(ms)),
        version: None,
    })
}

pub fn read(name: &str, user: u64, up_to: u64, endpoint: &str, ms: u64) -> MarkFact {
    MarkFact::ReadUpTo(ReadUpTo {
        uid: uid(user),
        conversation_id: conversation(name),
        up_to_seq: seq(up_to),
        endpoint: Endpoint::new(endpoint).ok(),
        occurred_at: at(ms),
    })
}

pub fn cleared(name: &str, user: u64, up_to: u64, ms: u64) -> MarkFact {
    MarkFact::Cleared(Cleared {
        uid: uid(user),
        conversation_id: conversation(name),
        up_to_seq: seq(up_to),
        endpoint: None,
        occurred_at: at(ms),
    })
}

fn flag(name: &str, user: u64, value: bool, ms: u64) -> FlagSet {
    let (conversation_id, occurred_at) = (conversation(name), at(ms));
    FlagSet { uid: uid(user), conversation_id, value, endpoint: None, occurred_at }
}

pub fn marked_unread(name: &str, user: u64, value: bool, ms: u64) -> MarkFact {
    MarkFact::MarkedUnread(flag(name, user, value, ms))
}

pub fn muted(name: &str, user: u64, value: bool, ms: u64) -> MarkFact {
    MarkFact::Muted(flag(name, user, value, ms))
}

pub fn ack(name: &str, n: u64, sender: u64, reader: u64) -> AckFact {
    AckFact::Receipts(Receipts {
        sender_uid: uid(sender),
        reader_uid: uid(reader),
        conversation_id: conversation(name),
        seqs: SeqRanges::from_seqs([seq(n)]),
        endpoint: None,
        origin: Origin::Client,
        occurred_at: at(0),
    })
}
