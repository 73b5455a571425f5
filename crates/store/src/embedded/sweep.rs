//! Taking away what has expired.
//!
//! Table `expiries` says in which bucket of which conversation something has expired by the end of an hour,
//! so that a sweep looks at nothing else. An entry is written whenever a message or chunk gets an expiry,
//! and goes when its bucket has been gone through after that hour; what lives longer has an entry of its own.

use super::codec::Decoder;
use super::table::{EXPIRIES, MESSAGES, READ_ARRAYS, Table};
use super::{EmbeddedStore, key};
use crate::embedded::row::MessageRow;
use crate::error::StoreError;
use readmark_domain::id::{ConversationId, Seq};
use readmark_domain::time::TimeMs;
use readmark_embedded::redb::WriteTransaction;
use readmark_embedded::{JobError, SealedWriter};
use std::ops::RangeInclusive;

/// One entry for all that expires in an hour in one bucket: about one for 128 messages where it is busy.
const EXPIRY_STEP_MS: u64 = 3_600_000;

/// What a sweep has taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Messages.
    pub messages: usize,
    /// Chunks of read arrays.
    pub chunks: usize,
    /// The limit was reached: sweep again.
    pub more: bool,
}

/// Is what expires at `expires_at` still there at `now`?
pub(super) fn is_alive(expires_at: TimeMs, now: TimeMs) -> bool {
    now < expires_at
}

/// Notes that something of the bucket of `seq` expires then.
pub(super) fn note_expiry(
    expiries: &mut SealedWriter<'_>,
    id: &ConversationId,
    seq: Seq,
    expires_at: TimeMs,
) -> Result<(), JobError> {
    let step_end =
        TimeMs::saturating(expires_at.get().div_ceil(EXPIRY_STEP_MS).saturating_mul(EXPIRY_STEP_MS));
    let key = key::of_expiry(step_end, id, seq.bucket());
    if expiries.get_with(&key, |_| ())?.is_none() { expiries.put(&key, &[]) } else { Ok(()) }
}

impl EmbeddedStore {
    /// Takes away messages and read arrays that have expired at `now`, in one transaction: at most `limit`
    /// rows removed and buckets gone through. Other writes wait meanwhile, so some thousands are a good
    /// limit. What has expired is invisible before; sweeping only frees its space, within about an hour.
    ///
    /// # Errors
    /// As every write; a repeat is harmless.
    pub async fn sweep(&self, now: TimeMs, limit: usize) -> Result<Swept, StoreError> {
        let job = move |txn: &_| sweep(txn, now, limit);
        self.write("sweep", || format!("expiries up to {now}"), job).await
    }
}

fn sweep(txn: &WriteTransaction, now: TimeMs, limit: usize) -> Result<Swept, JobError> {
    let mut expiries = EXPIRIES.write(txn)?;
    let (mut messages, mut arrays) = (MESSAGES.write(txn)?, READ_ARRAYS.write(txn)?);
    let mut swept = Swept::default();
    let mut left = limit;
    let end = now.get().saturating_add(1).to_be_bytes();
    loop {
        let first = expiries.keys(..end.as_slice())?.next().transpose()?;
        let Some(entry) = first else { break };
        if left == 0 {
            swept.more = true;
            break;
        }
        let id = EXPIRIES.part(&entry, key::conversation_after_number)?;
        let (first, last) = Seq::bucket_bounds(EXPIRIES.part(&entry, key::last_number)?);
        let of_messages = key::in_conversation(&id, first.get())..=key::in_conversation(&id, last.get());
        let gone = remove_expired(MESSAGES, &mut messages, &of_messages, now, left, message_expiry)?;
        swept.messages += gone;
        left -= gone;
        let of_chunks = key::range_of_chunks(&id, first, last);
        let gone = remove_expired(READ_ARRAYS, &mut arrays, &of_chunks, now, left, chunk_expiry)?;
        swept.chunks += gone;
        left -= gone;
        if left > 0 {
            // Gone through to its end.
            expiries.remove(&entry)?;
            left -= 1;
        }
    }
    Ok(swept)
}

type Expiry = fn(&[u8]) -> Result<TimeMs, &'static str>;

fn message_expiry(value: &[u8]) -> Result<TimeMs, &'static str> {
    <MessageRow as super::table::Row>::from_value(value).map(|row| row.expires_at)
}

/// Without decoding the readers.
fn chunk_expiry(value: &[u8]) -> Result<TimeMs, &'static str> {
    Decoder::new(value)?.time()
}

/// Removes at most `limit` expired rows of a range; says how many.
fn remove_expired(
    table: Table,
    writer: &mut SealedWriter<'_>,
    range: &RangeInclusive<Vec<u8>>,
    now: TimeMs,
    limit: usize,
    expiry: Expiry,
) -> Result<usize, JobError> {
    let mut expired = Vec::new();
    for row in writer.range(key::bounds(range))? {
        let (key, value) = row?;
        if expired.len() == limit {
            break;
        }
        if !is_alive(expiry(&value).map_err(|fault| table.damaged(&key, fault))?, now) {
            expired.push(key);
        }
    }
    for key in &expired {
        writer.remove(key)?;
    }
    Ok(expired.len())
}
