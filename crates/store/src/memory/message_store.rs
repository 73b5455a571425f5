use super::{Expiring, MemoryStore, keys};
use crate::error::StoreError;
use crate::port::MessageStore;
use crate::row::Bucket;
use async_trait::async_trait;
use readmark_domain::counting::{Message, MessageFlags};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::time::TimeMs;
use std::collections::BTreeSet;

#[async_trait]
impl MessageStore for MemoryStore {
    async fn raise_buckets(&self, id: &ConversationId, buckets: &[Bucket]) -> Result<(), StoreError> {
        let mut tables = self.tables();
        for bucket in buckets {
            let known = tables.buckets.entry((id.clone(), bucket.bucket)).or_insert(*bucket);
            known.newest_sent_at = known.newest_sent_at.max(bucket.newest_sent_at);
        }
        Ok(())
    }

    async fn buckets(
        &self,
        id: &ConversationId,
        first: u64,
        last: u64,
        limit: usize,
    ) -> Result<Vec<Bucket>, StoreError> {
        let Some(range) = keys(id, first, last) else { return Ok(Vec::new()) };
        Ok(self.tables().buckets.range(range).map(|(_, bucket)| *bucket).take(limit).collect())
    }

    async fn newest_buckets(&self, id: &ConversationId, limit: usize) -> Result<Vec<Bucket>, StoreError> {
        let Some(range) = keys(id, 0, u64::MAX) else { return Ok(Vec::new()) };
        Ok(self.tables().buckets.range(range).rev().map(|(_, bucket)| *bucket).take(limit).collect())
    }

    async fn write_messages(&self, messages: &[(Message, TimeMs)]) -> Result<(), StoreError> {
        let now = self.now();
        let mut tables = self.tables();
        for (message, expires_at) in messages {
            let written = Expiring { value: message.clone(), expires_at: *expires_at };
            if !written.is_alive(now) {
                continue;
            }
            let key = (message.conversation_id.clone(), message.seq);
            match tables.messages.get_mut(&key).filter(|known| known.is_alive(now)) {
                Some(known) => known.value.chunks = known.value.chunks.max(message.chunks),
                None => {
                    tables.messages.insert(key, written);
                }
            }
        }
        Ok(())
    }

    async fn messages(&self, id: &ConversationId, first: Seq, last: Seq) -> Result<Vec<Message>, StoreError> {
        let now = self.now();
        let Some(range) = keys(id, first, last) else { return Ok(Vec::new()) };
        let tables = self.tables();
        let alive = tables.messages.range(range).filter(|(_, message)| message.is_alive(now));
        Ok(alive.map(|(_, message)| message.value.clone()).collect())
    }

    async fn add_flags(&self, id: &ConversationId, flags: &[(Seq, MessageFlags)]) -> Result<(), StoreError> {
        let mut tables = self.tables();
        for (seq, flags) in flags.iter().filter(|(_, flags)| *flags != MessageFlags::default()) {
            let known = tables.flags.entry((id.clone(), *seq)).or_default();
            *known = known.merge(*flags);
        }
        Ok(())
    }

    async fn flags(
        &self,
        id: &ConversationId,
        first: Seq,
        last: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, MessageFlags)>, StoreError> {
        let Some(range) = keys(id, first, last) else { return Ok(Vec::new()) };
        Ok(self.tables().flags.range(range).map(|((_, seq), flags)| (*seq, *flags)).take(limit).collect())
    }

    async fn add_mentions(&self, id: &ConversationId, seq: Seq, uids: &[Uid]) -> Result<(), StoreError> {
        self.tables().mentions.extend(uids.iter().map(|uid| (*uid, id.clone(), seq)));
        Ok(())
    }

    async fn add_mention_all(&self, id: &ConversationId, seq: Seq) -> Result<(), StoreError> {
        self.tables().mentions_of_all.insert((id.clone(), seq));
        Ok(())
    }

    async fn mentions(
        &self,
        uid: Uid,
        id: &ConversationId,
        first: Seq,
        last: Seq,
        limit: usize,
    ) -> Result<Vec<Seq>, StoreError> {
        let Some(range) = keys(id, first, last) else { return Ok(Vec::new()) };
        let tables = self.tables();
        let own = tables.mentions.range((uid, id.clone(), first)..=(uid, id.clone(), last));
        let of_all = tables.mentions_of_all.range(range);
        let seqs: BTreeSet<Seq> = own.map(|(_, _, seq)| *seq).chain(of_all.map(|(_, seq)| *seq)).collect();
        Ok(seqs.into_iter().take(limit).collect())
    }
}
