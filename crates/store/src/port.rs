//! The port, a trait for each group of tables.

use crate::error::StoreError;
use crate::row::{
    Bucket, Conversation, MemberChange, Raise, ReadArrayAdd, UserConversation, UserConversationEntry,
};
use async_trait::async_trait;
use readmark_domain::counting::{Member, Message, MessageFlags};
use readmark_domain::dead_letter::{LetterId, Resolution};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::read_array::ReadArray;
use readmark_domain::register::{Latest, ReceiptsMode, Switch, UserSwitches};
use readmark_domain::time::TimeMs;

/// Everything readmark keeps.
#[async_trait]
pub trait ReceiptStore:
    ConversationStore
    + MessageStore
    + ReadArrayStore
    + MemberStore
    + UserStore
    + DeadLetterStore
    + Send
    + Sync
    + 'static
{
    /// Does the store answer? For readiness.
    async fn probe(&self) -> Result<(), StoreError>;
}

/// Table `conversations`.
#[async_trait]
pub trait ConversationStore {
    /// A conversation; `None` when nothing was ever written about it.
    async fn conversation(&self, id: &ConversationId) -> Result<Option<Conversation>, StoreError>;

    /// Raises the head: the greatest seq wins.
    async fn raise_head(&self, id: &ConversationId, head: Seq) -> Result<(), StoreError>;

    /// Raises the imported head, and the head with it.
    async fn raise_imported_head(&self, id: &ConversationId, head: Seq) -> Result<(), StoreError>;

    /// Adds a policy switch to the grow-only set.
    async fn add_policy(&self, id: &ConversationId, switch: Switch<ReceiptsMode>) -> Result<(), StoreError>;

    /// Sets the closed flag: the greatest order wins.
    async fn set_closed(&self, id: &ConversationId, closed: Latest) -> Result<(), StoreError>;

    /// Marks the conversation as large, for ever.
    async fn set_large(&self, id: &ConversationId) -> Result<(), StoreError>;
}

/// Tables `messages`, `buckets`, `uncounted`, `mentions`.
#[async_trait]
pub trait MessageStore {
    /// Raises the newest sent_at of buckets: a maximum each.
    async fn raise_buckets(&self, id: &ConversationId, buckets: &[Bucket]) -> Result<(), StoreError>;

    /// Buckets that hold or held messages, of numbers `first ..= last`, ascending, at most `limit`.
    async fn buckets(
        &self,
        id: &ConversationId,
        first: u64,
        last: u64,
        limit: usize,
    ) -> Result<Vec<Bucket>, StoreError>;

    /// The `limit` greatest buckets, descending.
    async fn newest_buckets(&self, id: &ConversationId, limit: usize) -> Result<Vec<Bucket>, StoreError>;

    /// Writes messages: a known one is never rewritten, but for `chunks`, which is a maximum. Each expires at
    /// the time beside it; one that has expired is not written.
    async fn write_messages(&self, messages: &[(Message, TimeMs)]) -> Result<(), StoreError>;

    /// The messages among `first ..= last`, ascending, expired ones left out. Callers keep the range within
    /// one bucket or a few.
    async fn messages(&self, id: &ConversationId, first: Seq, last: Seq) -> Result<Vec<Message>, StoreError>;

    /// Adds flags to seqs: grow-only, never expiring. No flag at all leaves no trace.
    async fn add_flags(&self, id: &ConversationId, flags: &[(Seq, MessageFlags)]) -> Result<(), StoreError>;

    /// Flagged seqs among `first ..= last`, ascending, at most `limit`; to go on, ask after the last one.
    async fn flags(
        &self,
        id: &ConversationId,
        first: Seq,
        last: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, MessageFlags)>, StoreError>;

    /// Notes that `uids` are mentioned at `seq`.
    async fn add_mentions(&self, id: &ConversationId, seq: Seq, uids: &[Uid]) -> Result<(), StoreError>;

    /// Notes that everybody is mentioned at `seq`.
    async fn add_mention_all(&self, id: &ConversationId, seq: Seq) -> Result<(), StoreError>;

    /// Seqs among `first ..= last` that mention `uid` or everybody, ascending, each once, at most `limit`.
    async fn mentions(
        &self,
        uid: Uid,
        id: &ConversationId,
        first: Seq,
        last: Seq,
        limit: usize,
    ) -> Result<Vec<Seq>, StoreError>;
}

/// Table `read_arrays`.
#[async_trait]
pub trait ReadArrayStore {
    /// Adds readers to read arrays: a union, commutative and idempotent.
    async fn add_readers(&self, adds: &[ReadArrayAdd]) -> Result<(), StoreError>;

    /// The read arrays of messages, in the order asked; the union of all chunks, empty when nobody has read
    /// it or it has expired.
    async fn read_arrays(&self, id: &ConversationId, seqs: &[Seq]) -> Result<Vec<ReadArray>, StoreError>;
}

/// Table `members`, by conversation.
#[async_trait]
pub trait MemberStore {
    /// Every member row of a conversation, ascending by uid: present, absent, or without a presence when only
    /// other facts about the user are known so far.
    async fn members(&self, id: &ConversationId) -> Result<Vec<Member>, StoreError>;

    /// The rows of these users, in the order asked; `None` where there is none.
    async fn members_of(&self, id: &ConversationId, uids: &[Uid]) -> Result<Vec<Option<Member>>, StoreError>;

    /// Writes presences (the greatest key wins) and `joined` (the greatest seq wins), both here and in
    /// the users' rows.
    async fn change_members(&self, id: &ConversationId, changes: &[MemberChange]) -> Result<(), StoreError>;

    /// Adds a copy of the user's switches to its member row: a union. An empty copy makes no row.
    async fn copy_switches(
        &self,
        id: &ConversationId,
        uid: Uid,
        switches: &UserSwitches,
    ) -> Result<(), StoreError>;
}

/// Tables `user_conversations` and `user_settings`, by user.
#[async_trait]
pub trait UserStore {
    /// A user's registers in one conversation; `None` when nothing was ever written.
    async fn user_conversation(
        &self,
        uid: Uid,
        id: &ConversationId,
    ) -> Result<Option<UserConversation>, StoreError>;

    /// A user's registers in all conversations after `after`, ascending by conversation id, at most `limit`.
    async fn user_conversations(
        &self,
        uid: Uid,
        after: Option<&ConversationId>,
        limit: usize,
    ) -> Result<Vec<UserConversationEntry>, StoreError>;

    /// Raises registers of a user in a conversation, all in one write of the user's row; `claimed` and
    /// `imported` also in the member's row. No raise at all makes no row.
    async fn raise(&self, uid: Uid, id: &ConversationId, raises: &[Raise]) -> Result<(), StoreError>;

    /// The user's switches.
    async fn user_switches(&self, uid: Uid) -> Result<UserSwitches, StoreError>;

    /// Adds a switch to the user's grow-only set.
    async fn add_user_switch(&self, uid: Uid, switch: Switch<bool>) -> Result<(), StoreError>;
}

/// Table `dead_letter_state`.
#[async_trait]
pub trait DeadLetterStore {
    /// Notes what was done about dead letters: of each the greatest resolution is kept.
    async fn resolve_dead_letters(&self, resolutions: &[(LetterId, Resolution)]) -> Result<(), StoreError>;

    /// What was done about the letters of a partition at the offsets `first ..= last`, ascending, at most `limit`;
    /// to go on, ask after the last one. Callers keep the range within the topic.
    async fn resolutions(
        &self,
        partition: u32,
        first: u64,
        last: u64,
        limit: usize,
    ) -> Result<Vec<(LetterId, Resolution)>, StoreError>;
}
