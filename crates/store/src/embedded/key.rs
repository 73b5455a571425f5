//! The bytes of keys, composed so that they sort as what they mean: numbers big-endian; after a conversation
//! id a zero byte, which no id contains (they have no control characters), so that no id's range begins
//! another's and ids sort bytewise.

use readmark_domain::dead_letter::LetterId;
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::time::TimeMs;
use std::ops::RangeInclusive;

/// Ends a conversation id.
const END_OF_ID: u8 = 0;
const NUMBER_BYTES: usize = 8;
/// Longest key: a time or uid, an id, a seq and a chunk.
const KEY_BYTES_MAX: usize = 90;

fn start() -> Vec<u8> {
    Vec::with_capacity(KEY_BYTES_MAX)
}

fn push_id(key: &mut Vec<u8>, id: &ConversationId) {
    key.extend_from_slice(id.as_str().as_bytes());
    key.push(END_OF_ID);
}

/// `(conversation)`
pub(super) fn of_conversation(id: &ConversationId) -> Vec<u8> {
    let mut key = start();
    push_id(&mut key, id);
    key
}

/// `(conversation, number)`: a seq, a bucket or a uid.
pub(super) fn in_conversation(id: &ConversationId, number: u64) -> Vec<u8> {
    let mut key = of_conversation(id);
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// `(conversation, seq, chunk)`
pub(super) fn of_chunk(id: &ConversationId, seq: Seq, chunk: u16) -> Vec<u8> {
    let mut key = in_conversation(id, seq.get());
    key.extend_from_slice(&chunk.to_be_bytes());
    key
}

/// `(uid)`
pub(super) fn of_user(uid: Uid) -> Vec<u8> {
    let mut key = start();
    key.extend_from_slice(&uid.get().to_be_bytes());
    key
}

/// `(uid, conversation)`
pub(super) fn of_user_conversation(uid: Uid, id: &ConversationId) -> Vec<u8> {
    let mut key = of_user(uid);
    push_id(&mut key, id);
    key
}

/// `(uid, conversation, seq)`
pub(super) fn of_mention(uid: Uid, id: &ConversationId, seq: Seq) -> Vec<u8> {
    let mut key = of_user_conversation(uid, id);
    key.extend_from_slice(&seq.get().to_be_bytes());
    key
}

/// `(time, conversation, bucket)`
pub(super) fn of_expiry(at: TimeMs, id: &ConversationId, bucket: u64) -> Vec<u8> {
    let mut key = start();
    key.extend_from_slice(&at.get().to_be_bytes());
    push_id(&mut key, id);
    key.extend_from_slice(&bucket.to_be_bytes());
    key
}

/// `(partition, offset)`
pub(super) fn of_letter(id: LetterId) -> Vec<u8> {
    let mut key = start();
    key.extend_from_slice(&id.partition.to_be_bytes());
    key.extend_from_slice(&id.offset.to_be_bytes());
    key
}

/// The keys `(conversation, first) ..= (conversation, last)`; `None` when there can be none.
pub(super) fn range(id: &ConversationId, first: u64, last: u64) -> Option<RangeInclusive<Vec<u8>>> {
    (first <= last).then(|| in_conversation(id, first)..=in_conversation(id, last))
}

/// Every chunk of `(conversation, first) ..= (conversation, last)`.
pub(super) fn range_of_chunks(id: &ConversationId, first: Seq, last: Seq) -> RangeInclusive<Vec<u8>> {
    of_chunk(id, first, 0)..=of_chunk(id, last, u16::MAX)
}

/// The bounds of a range in the form that tables take.
pub(super) fn bounds(range: &RangeInclusive<Vec<u8>>) -> RangeInclusive<&[u8]> {
    range.start().as_slice()..=range.end().as_slice()
}

/// The number at the end of a key.
pub(super) fn last_number(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*key.last_chunk::<NUMBER_BYTES>()?))
}

/// The number at the start of a key.
pub(super) fn first_number(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*key.first_chunk::<NUMBER_BYTES>()?))
}

/// The conversation of a key that has one after its first number.
pub(super) fn conversation_after_number(key: &[u8]) -> Option<ConversationId> {
    let rest = key.get(NUMBER_BYTES..)?;
    let end = rest.iter().position(|byte| *byte == END_OF_ID)?;
    ConversationId::new(std::str::from_utf8(rest.get(..end)?).ok()?).ok()
}
