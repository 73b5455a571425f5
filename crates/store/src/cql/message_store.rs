use super::error::{At, Key};
use super::request::Write;
use super::value::{Fault, int, number, time};
use super::{CqlStore, flags, mentions, messages};
use crate::error::StoreError;
use crate::port::MessageStore;
use crate::row::Bucket;
use async_trait::async_trait;
use readmark_domain::counting::{Message, MessageFlags};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::time::TimeMs;

/// A limit as CQL takes it: at least 1, see the callers.
pub(super) fn limit(rows: usize) -> i32 {
    i32::try_from(rows).unwrap_or(i32::MAX)
}

fn bucket((bucket, newest_sent_at): (i64, i64)) -> Result<Bucket, Fault> {
    Ok(Bucket { bucket: number(bucket)?, newest_sent_at: time(newest_sent_at)? })
}

impl CqlStore {
    /// Buckets `first ..= last`, ascending.
    pub(super) async fn read_buckets(
        &self,
        id: &ConversationId,
        first: u64,
        last: u64,
        most: usize,
    ) -> Result<Vec<Bucket>, StoreError> {
        let at = At::new("read buckets", "buckets", Key::Conversation(id));
        let values = (id.as_str(), int(first), int(last), limit(most));
        let rows = self.rows(at, &self.statements.read_buckets, values, most).await?;
        rows.into_iter().map(bucket).collect::<Result<_, _>>().map_err(|fault| at.corrupt(fault))
    }
}

#[async_trait]
impl MessageStore for CqlStore {
    async fn raise_buckets(&self, id: &ConversationId, buckets: &[Bucket]) -> Result<(), StoreError> {
        let raises = buckets.iter().map(|bucket| {
            let sent_at = int(bucket.newest_sent_at.get());
            Write::new(&self.statements.raise_bucket, (sent_at, sent_at, id.as_str(), int(bucket.bucket)))
        });
        let at = At::new("raise buckets", "buckets", Key::Conversation(id));
        self.write(at, raises.collect()).await
    }

    async fn buckets(
        &self,
        id: &ConversationId,
        first: u64,
        last: u64,
        limit: usize,
    ) -> Result<Vec<Bucket>, StoreError> {
        if first > last || limit == 0 {
            return Ok(Vec::new());
        }
        self.read_buckets(id, first, last, limit).await
    }

    async fn newest_buckets(&self, id: &ConversationId, most: usize) -> Result<Vec<Bucket>, StoreError> {
        if most == 0 {
            return Ok(Vec::new());
        }
        let at = At::new("read the newest buckets", "buckets", Key::Conversation(id));
        let values = (id.as_str(), limit(most));
        let rows = self.rows(at, &self.statements.read_newest_buckets, values, most).await?;
        rows.into_iter().map(bucket).collect::<Result<_, _>>().map_err(|fault| at.corrupt(fault))
    }

    async fn write_messages(&self, messages: &[(Message, TimeMs)]) -> Result<(), StoreError> {
        messages::write(self, messages).await
    }

    async fn messages(&self, id: &ConversationId, first: Seq, last: Seq) -> Result<Vec<Message>, StoreError> {
        messages::read(self, id, first, last).await
    }

    async fn add_flags(&self, id: &ConversationId, flags: &[(Seq, MessageFlags)]) -> Result<(), StoreError> {
        flags::add(self, id, flags).await
    }

    async fn flags(
        &self,
        id: &ConversationId,
        first: Seq,
        last: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, MessageFlags)>, StoreError> {
        flags::read(self, id, first, last, limit).await
    }

    async fn add_mentions(&self, id: &ConversationId, seq: Seq, uids: &[Uid]) -> Result<(), StoreError> {
        mentions::add(self, id, seq, uids).await
    }

    async fn add_mention_all(&self, id: &ConversationId, seq: Seq) -> Result<(), StoreError> {
        mentions::add_of_all(self, id, seq).await
    }

    async fn mentions(
        &self,
        uid: Uid,
        id: &ConversationId,
        first: Seq,
        last: Seq,
        limit: usize,
    ) -> Result<Vec<Seq>, StoreError> {
        mentions::read(self, uid, id, first, last, limit).await
    }
}
