use super::read_array_row::ReadArrayRow;
use super::sweep::{is_alive, note_expiry};
use super::table::{EXPIRIES, READ_ARRAYS, Row};
use super::{EmbeddedStore, key};
use crate::error::StoreError;
use crate::port::ReadArrayStore;
use crate::row::ReadArrayAdd;
use async_trait::async_trait;
use readmark_domain::id::{ConversationId, Seq};
use readmark_domain::read_array::{ReadArray, chunk_of};
use readmark_domain::time::TimeMs;
use readmark_embedded::{JobError, SealedReader, SealedWriter};
use std::collections::BTreeMap;

/// Where a chunk is.
type Place = (ConversationId, Seq, u16);

#[async_trait]
impl ReadArrayStore for EmbeddedStore {
    async fn add_readers(&self, adds: &[ReadArrayAdd]) -> Result<(), StoreError> {
        let now = self.now();
        let chunks = by_chunk(adds, now);
        let Some(((id, seq, _), _)) = chunks.first_key_value() else { return Ok(()) };
        let at = format!("read_arrays {id} {seq}, {} chunks in all", chunks.len());
        let job = move |txn: &_| {
            let (mut table, mut expiries) = (READ_ARRAYS.write(txn)?, EXPIRIES.write(txn)?);
            for (place, added) in &chunks {
                add_to_chunk(&mut table, &mut expiries, place, added, now)?;
            }
            Ok(())
        };
        self.write("add readers", || at, job).await
    }

    async fn read_arrays(&self, id: &ConversationId, seqs: &[Seq]) -> Result<Vec<ReadArray>, StoreError> {
        let (conversation, asked, now) = (id.clone(), seqs.to_vec(), self.now());
        let job = move |txn: &_| {
            let table = READ_ARRAYS.read(txn)?;
            asked.iter().map(|seq| read_array(&table, &conversation, *seq, now)).collect()
        };
        self.read("read read arrays", || format!("read_arrays {id}, {} messages", seqs.len()), job).await
    }
}

/// The readers sorted by chunk, outside the transaction. What has no life left is left out.
fn by_chunk(adds: &[ReadArrayAdd], now: TimeMs) -> BTreeMap<Place, ReadArrayRow> {
    let mut chunks: BTreeMap<Place, ReadArrayRow> = BTreeMap::new();
    for add in adds.iter().filter(|add| is_alive(add.message_expires_at, now)) {
        for reader in &add.readers {
            let place = (add.conversation_id.clone(), add.seq, chunk_of(*reader, add.chunks));
            let chunk = chunks.entry(place).or_default();
            chunk.readers.push(*reader);
            chunk.expires_at = chunk.expires_at.max(add.readers_expire_at());
        }
    }
    for chunk in chunks.values_mut() {
        chunk.readers.sort_unstable();
        chunk.readers.dedup();
    }
    chunks
}

fn add_to_chunk(
    table: &mut SealedWriter<'_>,
    expiries: &mut SealedWriter<'_>,
    (id, seq, chunk): &Place,
    added: &ReadArrayRow,
    now: TimeMs,
) -> Result<(), JobError> {
    let key = key::of_chunk(id, *seq, *chunk);
    let known: Option<ReadArrayRow> = READ_ARRAYS.get_in(table, &key)?;
    let known = known.filter(|known| is_alive(known.expires_at, now)).unwrap_or_default();
    let Some(union) = known.union(added) else { return Ok(()) };
    table.put(&key, &union.to_value())?;
    if union.expires_at == known.expires_at {
        Ok(())
    } else {
        note_expiry(expiries, id, *seq, union.expires_at)
    }
}

fn read_array(
    table: &SealedReader,
    id: &ConversationId,
    seq: Seq,
    now: TimeMs,
) -> Result<ReadArray, JobError> {
    let range = key::range_of_chunks(id, seq, seq);
    let mut readers = Vec::new();
    for row in table.range(key::bounds(&range))? {
        let (key, value) = row?;
        let chunk: ReadArrayRow = READ_ARRAYS.decode(&key, &value)?;
        if is_alive(chunk.expires_at, now) {
            readers.extend(chunk.readers);
        }
    }
    Ok(readers.into_iter().collect())
}
