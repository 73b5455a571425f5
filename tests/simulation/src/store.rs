//! The store's port: the memory store behind gates, with write timeouts.

use crate::tap::Tap;
use crate::world::{Ready, World};
use async_trait::async_trait;
use futures::FutureExt;
use readmark_domain::counting::{Member, Message, MessageFlags};
use readmark_domain::dead_letter::{LetterId, Resolution};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::read_array::ReadArray;
use readmark_domain::register::{Latest, ReceiptsMode, Switch, UserSwitches};
use readmark_domain::time::TimeMs;
use readmark_store::{
    Bucket, Conversation, ConversationStore, DeadLetterStore, MemberChange, MemberStore, MessageStore, Raise,
    ReadArrayAdd, ReadArrayStore, ReceiptStore, StoreError, StoreErrorKind, UserConversation,
    UserConversationEntry, UserStore,
};
use std::sync::Arc;

/// The store as one task sees it.
pub struct SimStore {
    world: Arc<World>,
    tap: Arc<Tap>,
}

impl SimStore {
    /// A write after which others may count: the check of stored positions must know when it took effect.
    async fn changes_who_counts<T>(&self, id: &ConversationId, write: impl Future<Output = T>) -> T {
        let done = write.await;
        self.world.state().log.who_counts_changed(id);
        done
    }

    /// For one task.
    #[must_use]
    pub const fn new(world: Arc<World>, tap: Arc<Tap>) -> Self {
        Self { world, tap }
    }

    async fn enter(
        &self,
        operation: &'static str,
        detail: impl FnOnce() -> String,
    ) -> Result<(), StoreError> {
        self.world.gate(Ready::Now).await;
        self.world.note(|| format!("store {operation} {}", detail()));
        self.fails(operation, "before")
    }

    fn fails(&self, operation: &'static str, when: &str) -> Result<(), StoreError> {
        if self.world.state().fails() {
            self.world.note(|| format!("store {operation} fails {when} it took effect"));
            return Err(StoreError::new(operation, "simulation", StoreErrorKind::Unavailable, when));
        }
        Ok(())
    }
}

/// Waits at the gate, calls the memory store, and loses the answer now and then.
macro_rules! call {
    ($self:ident, $operation:literal, $detail:expr, $call:expr) => {{
        $self.enter($operation, || format!("{:?}", $detail)).await?;
        let done = $call.await?;
        $self.fails($operation, "after")?;
        done
    }};
}

#[async_trait]
impl ConversationStore for SimStore {
    async fn conversation(&self, id: &ConversationId) -> Result<Option<Conversation>, StoreError> {
        Ok(call!(self, "conversation", id, self.world.truth.conversation(id)))
    }

    async fn raise_head(&self, id: &ConversationId, head: Seq) -> Result<(), StoreError> {
        self.enter("raise_head", || format!("{:?}", (id, head))).await?;
        self.world.truth.raise_head(id, head).await?;
        self.check_own(id, head);
        self.tap.head_raised();
        self.fails("raise_head", "after")
    }

    async fn raise_imported_head(&self, id: &ConversationId, head: Seq) -> Result<(), StoreError> {
        call!(self, "raise_imported_head", (id, head), self.world.truth.raise_imported_head(id, head));
        Ok(())
    }

    async fn add_policy(&self, id: &ConversationId, switch: Switch<ReceiptsMode>) -> Result<(), StoreError> {
        let write = self.changes_who_counts(id, self.world.truth.add_policy(id, switch));
        call!(self, "add_policy", (id, switch), write);
        Ok(())
    }

    async fn set_closed(&self, id: &ConversationId, closed: Latest) -> Result<(), StoreError> {
        call!(self, "set_closed", (id, closed), self.world.truth.set_closed(id, closed));
        Ok(())
    }

    async fn set_large(&self, id: &ConversationId) -> Result<(), StoreError> {
        call!(self, "set_large", id, self.world.truth.set_large(id));
        Ok(())
    }
}

impl SimStore {
    /// Nobody's own message ever shows as unread: a head that is a message finds the sender's own mark there.
    fn check_own(&self, id: &ConversationId, head: Seq) {
        let truth = &self.world.truth;
        let messages = truth.messages(id, head, head).now_or_never().and_then(Result::ok);
        let flags = truth.flags(id, head, head, 1).now_or_never().and_then(Result::ok).unwrap_or_default();
        let row = truth.conversation(id).now_or_never().and_then(Result::ok).flatten().unwrap_or_default();
        if flags.iter().any(|(_, flags)| flags.is_uncounted()) || head <= row.imported_head {
            return;
        }
        for message in messages.unwrap_or_default() {
            let row = truth.user_conversation(message.sender_uid, id).now_or_never().and_then(Result::ok);
            let own = row.flatten().unwrap_or_default().own;
            if own < head {
                self.world
                    .violation(format!("own of {} is {own} at the head {head} of {id}", message.sender_uid));
            }
        }
    }
}

#[async_trait]
impl MessageStore for SimStore {
    async fn raise_buckets(&self, id: &ConversationId, buckets: &[Bucket]) -> Result<(), StoreError> {
        call!(self, "raise_buckets", (id, buckets), self.world.truth.raise_buckets(id, buckets));
        Ok(())
    }

    async fn buckets(
        &self,
        id: &ConversationId,
        first: u64,
        last: u64,
        limit: usize,
    ) -> Result<Vec<Bucket>, StoreError> {
        Ok(call!(self, "buckets", (id, first, last), self.world.truth.buckets(id, first, last, limit)))
    }

    async fn newest_buckets(&self, id: &ConversationId, limit: usize) -> Result<Vec<Bucket>, StoreError> {
        let buckets = call!(self, "newest_buckets", id, self.world.truth.newest_buckets(id, limit));
        Ok(self.tap.newest_buckets(buckets))
    }

    async fn write_messages(&self, messages: &[(Message, TimeMs)]) -> Result<(), StoreError> {
        let seqs: Vec<Seq> = messages.iter().map(|(message, _)| message.seq).collect();
        call!(self, "write_messages", seqs, self.world.truth.write_messages(messages));
        Ok(())
    }

    async fn messages(&self, id: &ConversationId, first: Seq, last: Seq) -> Result<Vec<Message>, StoreError> {
        Ok(call!(self, "messages", (id, first, last), self.world.truth.messages(id, first, last)))
    }

    async fn add_flags(&self, id: &ConversationId, flags: &[(Seq, MessageFlags)]) -> Result<(), StoreError> {
        call!(self, "add_flags", (id, flags), self.world.truth.add_flags(id, flags));
        Ok(())
    }

    async fn flags(
        &self,
        id: &ConversationId,
        first: Seq,
        last: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, MessageFlags)>, StoreError> {
        Ok(call!(self, "flags", (id, first, last), self.world.truth.flags(id, first, last, limit)))
    }

    async fn add_mentions(&self, id: &ConversationId, seq: Seq, uids: &[Uid]) -> Result<(), StoreError> {
        call!(self, "add_mentions", (id, seq, uids), self.world.truth.add_mentions(id, seq, uids));
        Ok(())
    }

    async fn add_mention_all(&self, id: &ConversationId, seq: Seq) -> Result<(), StoreError> {
        call!(self, "add_mention_all", (id, seq), self.world.truth.add_mention_all(id, seq));
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
        Ok(call!(self, "mentions", (uid, id), self.world.truth.mentions(uid, id, first, last, limit)))
    }
}

#[async_trait]
impl ReadArrayStore for SimStore {
    async fn add_readers(&self, adds: &[ReadArrayAdd]) -> Result<(), StoreError> {
        self.enter("add_readers", || {
            let adds: Vec<_> = adds.iter().map(|add| (&add.conversation_id, add.seq, &add.readers)).collect();
            format!("{adds:?}")
        })
        .await?;
        self.world.truth.add_readers(adds).await?;
        self.tap.adds(adds);
        self.fails("add_readers", "after")
    }

    async fn read_arrays(&self, id: &ConversationId, seqs: &[Seq]) -> Result<Vec<ReadArray>, StoreError> {
        Ok(call!(self, "read_arrays", (id, seqs), self.world.truth.read_arrays(id, seqs)))
    }
}

#[async_trait]
impl MemberStore for SimStore {
    async fn members(&self, id: &ConversationId) -> Result<Vec<Member>, StoreError> {
        let members = call!(self, "members", id, self.world.truth.members(id));
        Ok(self.tap.members(id, members))
    }

    async fn members_of(&self, id: &ConversationId, uids: &[Uid]) -> Result<Vec<Option<Member>>, StoreError> {
        Ok(call!(self, "members_of", (id, uids), self.world.truth.members_of(id, uids)))
    }

    async fn change_members(&self, id: &ConversationId, changes: &[MemberChange]) -> Result<(), StoreError> {
        let write = self.changes_who_counts(id, self.world.truth.change_members(id, changes));
        call!(self, "change_members", (id, changes), write);
        Ok(())
    }

    async fn copy_switches(
        &self,
        id: &ConversationId,
        uid: Uid,
        switches: &UserSwitches,
    ) -> Result<(), StoreError> {
        let write = self.changes_who_counts(id, self.world.truth.copy_switches(id, uid, switches));
        call!(self, "copy_switches", (id, uid, switches), write);
        Ok(())
    }
}

#[async_trait]
impl UserStore for SimStore {
    async fn user_conversation(
        &self,
        uid: Uid,
        id: &ConversationId,
    ) -> Result<Option<UserConversation>, StoreError> {
        let row = call!(self, "user_conversation", (uid, id), self.world.truth.user_conversation(uid, id));
        self.tap.row_read();
        Ok(row)
    }

    async fn user_conversations(
        &self,
        uid: Uid,
        after: Option<&ConversationId>,
        limit: usize,
    ) -> Result<Vec<UserConversationEntry>, StoreError> {
        Ok(call!(self, "user_conversations", uid, self.world.truth.user_conversations(uid, after, limit)))
    }

    async fn raise(&self, uid: Uid, id: &ConversationId, raises: &[Raise]) -> Result<(), StoreError> {
        self.enter("raise", || format!("{:?}", (uid, id, raises))).await?;
        let raises = self.tap.raises(uid, id, raises);
        self.world.truth.raise(uid, id, &raises).await?;
        self.fails("raise", "after")
    }

    async fn user_switches(&self, uid: Uid) -> Result<UserSwitches, StoreError> {
        Ok(call!(self, "user_switches", uid, self.world.truth.user_switches(uid)))
    }

    async fn add_user_switch(&self, uid: Uid, switch: Switch<bool>) -> Result<(), StoreError> {
        call!(self, "add_user_switch", (uid, switch), self.world.truth.add_user_switch(uid, switch));
        Ok(())
    }
}

#[async_trait]
impl DeadLetterStore for SimStore {
    async fn resolve_dead_letters(&self, resolutions: &[(LetterId, Resolution)]) -> Result<(), StoreError> {
        call!(self, "resolve_dead_letters", resolutions, self.world.truth.resolve_dead_letters(resolutions));
        Ok(())
    }

    async fn resolutions(
        &self,
        partition: u32,
        first: u64,
        last: u64,
        limit: usize,
    ) -> Result<Vec<(LetterId, Resolution)>, StoreError> {
        let asked = (partition, first, last);
        Ok(call!(self, "resolutions", asked, self.world.truth.resolutions(partition, first, last, limit)))
    }
}

#[async_trait]
impl ReceiptStore for SimStore {
    async fn probe(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
