use super::CqlStore;
use super::error::{At, Key};
use super::request::{Write, all};
use super::value::{int, seq, uid};
use crate::error::StoreError;
use crate::port::ReadArrayStore;
use crate::row::ReadArrayAdd;
use async_trait::async_trait;
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::read_array::{ReadArray, chunk_of};
use std::collections::{BTreeMap, BTreeSet};

/// Readers of one statement: about as many as a chunk is meant to hold, 24 KiB.
const READERS_OF_STATEMENT_MAX: usize = 2_048;
/// Bytes of a reader in a statement: length and value.
const READER_BYTES: usize = 12;
/// Seqs asked for in one read: ScyllaDB takes at most 100 values of a clustering column.
const SEQS_OF_READ_MAX: usize = 64;

type Row = (i64, Option<Vec<i64>>);

/// What a call adds in one bucket: readers by seq and chunk, with their time to live.
type OfBucket = BTreeMap<(Seq, u16), (i32, BTreeSet<Uid>)>;

#[async_trait]
impl ReadArrayStore for CqlStore {
    async fn add_readers(&self, adds: &[ReadArrayAdd]) -> Result<(), StoreError> {
        let mut buckets: BTreeMap<(&ConversationId, u64), OfBucket> = BTreeMap::new();
        for add in adds {
            // Readers live on for a minute, but none are written for a message that has expired.
            let (Some(_), Some(ttl_s)) =
                (self.ttl_s(add.message_expires_at), self.ttl_s(add.readers_expire_at()))
            else {
                continue;
            };
            let bucket = buckets.entry((&add.conversation_id, add.seq.bucket())).or_default();
            for reader in &add.readers {
                let chunk = chunk_of(*reader, add.chunks);
                let (of_chunk_s, readers) =
                    bucket.entry((add.seq, chunk)).or_insert((ttl_s, BTreeSet::new()));
                *of_chunk_s = ttl_s.max(*of_chunk_s);
                readers.insert(*reader);
            }
        }
        all(buckets.into_iter().map(|((id, bucket), adds)| self.add_to_bucket(id, bucket, adds)))
            .await
            .map(drop)
    }

    async fn read_arrays(&self, id: &ConversationId, seqs: &[Seq]) -> Result<Vec<ReadArray>, StoreError> {
        let mut buckets: BTreeMap<u64, BTreeSet<Seq>> = BTreeMap::new();
        for seq in seqs {
            buckets.entry(seq.bucket()).or_default().insert(*seq);
        }
        let slices = buckets.iter().flat_map(|(bucket, seqs)| {
            let seqs: Vec<Seq> = seqs.iter().copied().collect();
            let slices: Vec<_> =
                seqs.chunks(SEQS_OF_READ_MAX).map(|slice| (*bucket, slice.to_vec())).collect();
            slices
        });
        let mut readers: BTreeMap<Seq, Vec<Uid>> = BTreeMap::new();
        let reads: Vec<_> = slices.map(|(bucket, slice)| self.read_slice(id, bucket, slice)).collect();
        for (seq, of_chunk) in all(reads).await?.into_iter().flatten() {
            readers.entry(seq).or_default().extend(of_chunk);
        }
        let arrays: BTreeMap<Seq, ReadArray> =
            readers.into_iter().map(|(seq, readers)| (seq, readers.into_iter().collect())).collect();
        Ok(seqs.iter().map(|seq| arrays.get(seq).cloned().unwrap_or_default()).collect())
    }
}

impl CqlStore {
    async fn add_to_bucket(
        &self,
        id: &ConversationId,
        bucket: u64,
        adds: OfBucket,
    ) -> Result<(), StoreError> {
        let mut writes = Vec::new();
        for ((seq, chunk), (ttl_s, readers)) in adds {
            let readers: Vec<i64> = readers.into_iter().map(|reader| int(reader.get())).collect();
            writes.extend(readers.chunks(READERS_OF_STATEMENT_MAX).map(|readers| {
                let values =
                    (ttl_s, readers.to_vec(), id.as_str(), int(bucket), int(seq.get()), i32::from(chunk));
                Write::of_bytes(&self.statements.add_readers, values, readers.len() * READER_BYTES)
            }));
        }
        self.write(At::new("add readers", "read_arrays", Key::Bucket(id, bucket)), writes).await
    }

    async fn read_slice(
        &self,
        id: &ConversationId,
        bucket: u64,
        seqs: Vec<Seq>,
    ) -> Result<Vec<(Seq, Vec<Uid>)>, StoreError> {
        let at = At::new("read read arrays", "read_arrays", Key::Bucket(id, bucket));
        let seqs: Vec<i64> = seqs.into_iter().map(|seq| int(seq.get())).collect();
        let values = (id.as_str(), int(bucket), seqs);
        let rows = self.rows::<Row>(at, &self.statements.read_read_arrays, values, usize::MAX).await?;
        let chunks = rows.into_iter().map(|(row_seq, readers)| {
            let readers = readers.unwrap_or_default().into_iter().map(uid);
            Ok((seq(Some(row_seq))?, readers.collect::<Result<_, _>>()?))
        });
        chunks.collect::<Result<_, _>>().map_err(|fault: super::value::Fault| at.corrupt(fault))
    }
}
