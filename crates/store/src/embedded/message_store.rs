use super::row::MessageRow;
use super::sweep::{is_alive, note_expiry};
use super::table::{BUCKETS, EXPIRIES, MENTIONS, MENTIONS_OF_ALL, MESSAGES, Row, Table, UNCOUNTED};
use super::{EmbeddedStore, key};
use crate::error::StoreError;
use crate::port::MessageStore;
use crate::row::Bucket;
use async_trait::async_trait;
use readmark_domain::counting::{Message, MessageFlags};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::time::TimeMs;
use readmark_embedded::redb::{ReadTransaction, WriteTransaction};
use readmark_embedded::{JobError, SealedWriter};
use std::ops::RangeInclusive;

#[async_trait]
impl MessageStore for EmbeddedStore {
    async fn raise_buckets(&self, id: &ConversationId, buckets: &[Bucket]) -> Result<(), StoreError> {
        if buckets.is_empty() {
            return Ok(());
        }
        let raised: Vec<_> =
            buckets.iter().map(|b| (key::in_conversation(id, b.bucket), b.newest_sent_at)).collect();
        let job = move |txn: &_| {
            let mut table = BUCKETS.write(txn)?;
            for (key, sent_at) in &raised {
                BUCKETS.merge(&mut table, key, |newest: &mut TimeMs| *newest = (*newest).max(*sent_at))?;
            }
            Ok(())
        };
        self.write("raise buckets", || format!("buckets {id}"), job).await
    }

    async fn buckets(
        &self,
        id: &ConversationId,
        first: u64,
        last: u64,
        limit: usize,
    ) -> Result<Vec<Bucket>, StoreError> {
        let Some(range) = key::range(id, first, last) else { return Ok(Vec::new()) };
        let job = move |txn: &_| {
            let table = BUCKETS.read(txn)?;
            table.range(key::bounds(&range))?.take(limit).map(|row| bucket(row?)).collect()
        };
        self.read("read buckets", || format!("buckets {id} {first} to {last}"), job).await
    }

    async fn newest_buckets(&self, id: &ConversationId, limit: usize) -> Result<Vec<Bucket>, StoreError> {
        let Some(range) = key::range(id, 0, u64::MAX) else { return Ok(Vec::new()) };
        let job = move |txn: &_| {
            let table = BUCKETS.read(txn)?;
            table.range(key::bounds(&range))?.rev().take(limit).map(|row| bucket(row?)).collect()
        };
        self.read("read the newest buckets", || format!("buckets {id}"), job).await
    }

    async fn write_messages(&self, messages: &[(Message, TimeMs)]) -> Result<(), StoreError> {
        let now = self.now();
        let alive: Vec<_> =
            messages.iter().filter(|(_, expires_at)| is_alive(*expires_at, now)).cloned().collect();
        let Some((first, _)) = alive.first() else { return Ok(()) };
        let at = format!("messages {} {} and {} more", first.conversation_id, first.seq, alive.len() - 1);
        let job = move |txn: &_| {
            let (mut table, mut expiries) = (MESSAGES.write(txn)?, EXPIRIES.write(txn)?);
            for (message, expires_at) in &alive {
                write_message(&mut table, &mut expiries, message, *expires_at, now)?;
            }
            Ok(())
        };
        self.write("write messages", || at, job).await
    }

    async fn messages(&self, id: &ConversationId, first: Seq, last: Seq) -> Result<Vec<Message>, StoreError> {
        let Some(range) = key::range(id, first.get(), last.get()) else { return Ok(Vec::new()) };
        let (conversation, now) = (id.clone(), self.now());
        let job = move |txn: &_| read_messages(txn, &conversation, &range, now);
        self.read("read messages", || format!("messages {id} {first} to {last}"), job).await
    }

    async fn add_flags(&self, id: &ConversationId, flags: &[(Seq, MessageFlags)]) -> Result<(), StoreError> {
        let is_any = |flags: &MessageFlags| *flags != MessageFlags::default();
        let added: Vec<_> = flags
            .iter()
            .filter(|(_, flags)| is_any(flags))
            .map(|(seq, flags)| (key::in_conversation(id, seq.get()), *flags))
            .collect();
        if added.is_empty() {
            return Ok(());
        }
        let job = move |txn: &_| {
            let mut table = UNCOUNTED.write(txn)?;
            for (key, flags) in &added {
                UNCOUNTED.merge(&mut table, key, |known: &mut MessageFlags| *known = known.merge(*flags))?;
            }
            Ok(())
        };
        self.write("add flags", || format!("uncounted {id}, {} seqs", flags.len()), job).await
    }

    async fn flags(
        &self,
        id: &ConversationId,
        first: Seq,
        last: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, MessageFlags)>, StoreError> {
        let Some(range) = key::range(id, first.get(), last.get()) else { return Ok(Vec::new()) };
        let job = move |txn: &_| {
            let table = UNCOUNTED.read(txn)?;
            let mut flags = Vec::new();
            for row in table.range(key::bounds(&range))?.take(limit) {
                let (key, value) = row?;
                flags.push((seq_of(UNCOUNTED, &key)?, UNCOUNTED.decode(&key, &value)?));
            }
            Ok(flags)
        };
        self.read("read flags", || format!("uncounted {id} {first} to {last}"), job).await
    }

    async fn add_mentions(&self, id: &ConversationId, seq: Seq, uids: &[Uid]) -> Result<(), StoreError> {
        if uids.is_empty() {
            return Ok(());
        }
        let keys = uids.iter().map(|uid| key::of_mention(*uid, id, seq)).collect();
        let job = add_keys(MENTIONS, keys);
        self.write("add mentions", || format!("mentions {id} {seq}, {} users", uids.len()), job).await
    }

    async fn add_mention_all(&self, id: &ConversationId, seq: Seq) -> Result<(), StoreError> {
        let job = add_keys(MENTIONS_OF_ALL, vec![key::in_conversation(id, seq.get())]);
        self.write("add a mention of all", || format!("mentions_of_all {id} {seq}"), job).await
    }

    async fn mentions(
        &self,
        uid: Uid,
        id: &ConversationId,
        first: Seq,
        last: Seq,
        limit: usize,
    ) -> Result<Vec<Seq>, StoreError> {
        let Some(of_all) = key::range(id, first.get(), last.get()) else { return Ok(Vec::new()) };
        let own = key::of_mention(uid, id, first)..=key::of_mention(uid, id, last);
        let job = move |txn: &_| {
            // The smallest of both lists are among the smallest of each.
            let mut seqs = seqs_of_keys(txn, MENTIONS, &own, limit)?;
            seqs.extend(seqs_of_keys(txn, MENTIONS_OF_ALL, &of_all, limit)?);
            seqs.sort_unstable();
            seqs.dedup();
            seqs.truncate(limit);
            Ok(seqs)
        };
        self.read("read mentions", || format!("mentions {uid} {id} {first} to {last}"), job).await
    }
}

fn seq_of(table: Table, key: &[u8]) -> Result<Seq, JobError> {
    table.part(key, |key| Seq::new_or_zero(key::last_number(key)?).ok())
}

fn bucket((key, value): (Vec<u8>, Vec<u8>)) -> Result<Bucket, JobError> {
    let bucket = BUCKETS.part(&key, key::last_number)?;
    Ok(Bucket { bucket, newest_sent_at: BUCKETS.decode(&key, &value)? })
}

/// Writes one message, or raises the chunks of a known one.
fn write_message(
    table: &mut SealedWriter<'_>,
    expiries: &mut SealedWriter<'_>,
    message: &Message,
    expires_at: TimeMs,
    now: TimeMs,
) -> Result<(), JobError> {
    let key = key::in_conversation(&message.conversation_id, message.seq.get());
    let known: Option<MessageRow> = MESSAGES.get_in(table, &key)?;
    match known.filter(|known| is_alive(known.expires_at, now)) {
        Some(known) if known.chunks >= message.chunks => Ok(()),
        Some(known) => table.put(&key, &MessageRow { chunks: message.chunks, ..known }.to_value()),
        None => {
            let row = MessageRow {
                msg_id: message.msg_id,
                sender_uid: message.sender_uid,
                sent_at: message.sent_at,
                countable: message.countable,
                chunks: message.chunks,
                expires_at,
            };
            table.put(&key, &row.to_value())?;
            note_expiry(expiries, &message.conversation_id, message.seq, expires_at)
        }
    }
}

fn read_messages(
    txn: &ReadTransaction,
    id: &ConversationId,
    range: &RangeInclusive<Vec<u8>>,
    now: TimeMs,
) -> Result<Vec<Message>, JobError> {
    let table = MESSAGES.read(txn)?;
    let mut messages = Vec::new();
    for row in table.range(key::bounds(range))? {
        let (key, value) = row?;
        let row: MessageRow = MESSAGES.decode(&key, &value)?;
        if is_alive(row.expires_at, now) {
            messages.push(Message {
                conversation_id: id.clone(),
                seq: seq_of(MESSAGES, &key)?,
                msg_id: row.msg_id,
                sender_uid: row.sender_uid,
                sent_at: row.sent_at,
                countable: row.countable,
                chunks: row.chunks,
            });
        }
    }
    Ok(messages)
}

/// Adds keys whose being there is all they say.
fn add_keys(table: Table, keys: Vec<Vec<u8>>) -> impl Fn(&WriteTransaction) -> Result<(), JobError> + Send {
    move |txn| {
        let mut writer = table.write(txn)?;
        for key in &keys {
            if writer.get_with(key, |_| ())?.is_none() {
                writer.put(key, &[])?;
            }
        }
        Ok(())
    }
}

fn seqs_of_keys(
    txn: &ReadTransaction,
    table: Table,
    range: &RangeInclusive<Vec<u8>>,
    limit: usize,
) -> Result<Vec<Seq>, JobError> {
    let reader = table.read(txn)?;
    reader.range(key::bounds(range))?.take(limit).map(|row| seq_of(table, &row?.0)).collect()
}
