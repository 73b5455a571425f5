//! Table `messages`.

use super::CqlStore;
use super::error::{At, Key};
use super::request::{Write, all};
use super::value::{Fault, int, number, seq, time, uid};
use crate::error::StoreError;
use readmark_domain::counting::Message;
use readmark_domain::id::{ConversationId, MsgId, Seq};
use readmark_domain::time::TimeMs;
use scylla::cluster::metadata::ColumnType;
use scylla::serialize::SerializationError;
use scylla::serialize::value::SerializeValue;
use scylla::serialize::writers::{CellWriter, WrittenCellProof};
use std::collections::BTreeMap;

/// Up to so many buckets of a range are read one by one; of a wider one only those that hold messages. Callers
/// keep to a few.
const BUCKETS_READ_ONE_BY_ONE: u64 = 1_024;

/// The cell `message`: written once, so its fields can't mix.
#[derive(scylla::SerializeValue, scylla::DeserializeValue)]
#[scylla(crate = "scylla")]
struct MessageCell {
    msg_id: i64,
    sender_uid: i64,
    sent_at: i64,
    countable: bool,
}

/// One of the two cells of a message's row.
enum Cell {
    Message(MessageCell),
    Chunks(i32),
}

impl SerializeValue for Cell {
    fn serialize<'b>(
        &self,
        typ: &ColumnType<'_>,
        writer: CellWriter<'b>,
    ) -> Result<WrittenCellProof<'b>, SerializationError> {
        match self {
            Self::Message(message) => message.serialize(typ, writer),
            Self::Chunks(chunks) => chunks.serialize(typ, writer),
        }
    }
}

type Row = (i64, Option<MessageCell>, Option<i32>);

/// TTL, timestamp, value and key.
type Values<'a> = (i32, i64, Cell, &'a str, i64, i64);

fn message(id: &ConversationId, (row_seq, cell, chunks): Row) -> Result<Option<Message>, Fault> {
    // `chunks` alone: its message has expired within the same second.
    let Some(cell) = cell else { return Ok(None) };
    Ok(Some(Message {
        conversation_id: id.clone(),
        seq: seq(Some(row_seq))?,
        msg_id: MsgId::new(number(cell.msg_id)?).map_err(|_| "a msg_id is out of range")?,
        sender_uid: uid(cell.sender_uid)?,
        sent_at: time(cell.sent_at)?,
        countable: cell.countable,
        // Hidden where more chunks have expired a moment ago: one chunk takes all readers.
        chunks: u16::try_from(chunks.unwrap_or(1)).map_err(|_| "chunks are out of range")?,
    }))
}

/// Messages `first ..= last`, ascending.
pub(super) async fn read(
    store: &CqlStore,
    id: &ConversationId,
    first: Seq,
    last: Seq,
) -> Result<Vec<Message>, StoreError> {
    if first > last {
        return Ok(Vec::new());
    }
    let (first_bucket, last_bucket) = (first.bucket(), last.bucket());
    let buckets: Vec<u64> = if last_bucket - first_bucket < BUCKETS_READ_ONE_BY_ONE {
        (first_bucket..=last_bucket).collect()
    } else {
        let buckets = store.read_buckets(id, first_bucket, last_bucket, usize::MAX).await?;
        buckets.iter().map(|bucket| bucket.bucket).collect()
    };
    let reads = buckets.into_iter().map(|bucket| {
        let (from, to) = Seq::bucket_bounds(bucket);
        read_bucket(store, id, bucket, first.max(from), last.min(to))
    });
    Ok(all(reads).await?.into_iter().flatten().collect())
}

async fn read_bucket(
    store: &CqlStore,
    id: &ConversationId,
    bucket: u64,
    first: Seq,
    last: Seq,
) -> Result<Vec<Message>, StoreError> {
    let at = At::new("read messages", "messages", Key::Bucket(id, bucket));
    let values = (id.as_str(), int(bucket), int(first.get()), int(last.get()));
    let rows = store.rows(at, &store.statements.read_messages, values, usize::MAX).await?;
    let messages = rows.into_iter().filter_map(|row| message(id, row).transpose());
    messages.collect::<Result<_, _>>().map_err(|fault| at.corrupt(fault))
}

/// What a call writes in one bucket: of each seq the first message, the greatest chunks, the time it expires.
type OfBucket<'m> = BTreeMap<Seq, (&'m Message, u16, TimeMs)>;

/// Writes messages that are not known, and raises the chunks of those that are.
pub(super) async fn write(store: &CqlStore, messages: &[(Message, TimeMs)]) -> Result<(), StoreError> {
    let mut buckets: BTreeMap<(&ConversationId, u64), OfBucket<'_>> = BTreeMap::new();
    for (message, expires_at) in messages {
        if store.ttl_s(*expires_at).is_none() {
            continue;
        }
        let bucket = buckets.entry((&message.conversation_id, message.seq.bucket())).or_default();
        let (_, chunks, _) = bucket.entry(message.seq).or_insert((message, message.chunks, *expires_at));
        *chunks = message.chunks.max(*chunks);
    }
    let writes =
        buckets.into_iter().map(|((id, bucket), messages)| write_bucket(store, id, bucket, messages));
    all(writes).await.map(drop)
}

async fn write_bucket(
    store: &CqlStore,
    id: &ConversationId,
    bucket: u64,
    messages: OfBucket<'_>,
) -> Result<(), StoreError> {
    let (Some((first, _)), Some((last, _))) = (messages.first_key_value(), messages.last_key_value()) else {
        return Ok(());
    };
    let known = read_bucket(store, id, bucket, *first, *last).await?;
    let known: BTreeMap<Seq, u16> = known.iter().map(|message| (message.seq, message.chunks)).collect();
    let mut writes: Vec<Write<'_, Values<'_>>> = Vec::new();
    for (seq, (message, chunks, expires_at)) in messages {
        let Some(ttl_s) = store.ttl_s(expires_at) else { continue };
        let key = (id.as_str(), int(bucket), int(seq.get()));
        let known_chunks = known.get(&seq).copied();
        if known_chunks.is_none() {
            let cell = MessageCell {
                msg_id: int(message.msg_id.get()),
                sender_uid: int(message.sender_uid.get()),
                sent_at: int(message.sent_at.get()),
                countable: message.countable,
            };
            let values = (ttl_s, int(expires_at.get()), Cell::Message(cell), key.0, key.1, key.2);
            writes.push(Write::new(&store.statements.write_message, values));
        }
        if known_chunks.is_none_or(|known| known < chunks) {
            let chunks = i32::from(chunks);
            let values = (ttl_s, i64::from(chunks), Cell::Chunks(chunks), key.0, key.1, key.2);
            writes.push(Write::new(&store.statements.raise_chunks, values));
        }
    }
    store.write(At::new("write messages", "messages", Key::Bucket(id, bucket)), writes).await
}
