use async_trait::async_trait;
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
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// A store that can be away or slow, and counts its calls.
pub struct AwayStore {
    inner: Arc<dyn ReceiptStore>,
    away: AtomicBool,
    /// Calls answered until it goes away by itself.
    answers_left: AtomicU64,
    calls: AtomicU64,
    slow_ms: AtomicU64,
}

impl AwayStore {
    pub fn new(inner: Arc<dyn ReceiptStore>) -> Self {
        Self {
            inner,
            away: AtomicBool::new(false),
            answers_left: AtomicU64::new(u64::MAX),
            calls: AtomicU64::new(0),
            slow_ms: AtomicU64::new(0),
        }
    }

    pub fn set_away(&self, away: bool) {
        self.away.store(away, Ordering::SeqCst);
    }

    /// Answers so many calls, then is away.
    pub fn away_after(&self, calls: u64) {
        self.answers_left.store(calls, Ordering::SeqCst);
    }

    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// Every call takes so long.
    pub fn set_slow_ms(&self, ms: u64) {
        self.slow_ms.store(ms, Ordering::SeqCst);
    }

    async fn answers(&self, operation: &'static str) -> Result<(), StoreError> {
        let slow_ms = self.slow_ms.load(Ordering::SeqCst);
        if slow_ms > 0 {
            tokio::time::sleep(Duration::from_millis(slow_ms)).await;
        }
        self.calls.fetch_add(1, Ordering::SeqCst);
        let none_left = self
            .answers_left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
            .is_err();
        if none_left || self.away.load(Ordering::SeqCst) {
            return Err(StoreError::new(
                operation,
                "anywhere",
                StoreErrorKind::Unavailable,
                "told to be away",
            ));
        }
        Ok(())
    }
}

#[async_trait]
impl ReceiptStore for AwayStore {
    async fn probe(&self) -> Result<(), StoreError> {
        self.answers("probe").await?;
        self.inner.probe().await
    }
}

macro_rules! pass_on {
    ($port:ident { $(fn $call:ident(&self $(, $arg:ident: $type:ty)*) -> $out:ty;)* }) => {
        #[async_trait]
        impl $port for AwayStore {
            $(async fn $call(&self $(, $arg: $type)*) -> Result<$out, StoreError> {
                self.answers(stringify!($call)).await?;
                self.inner.$call($($arg),*).await
            })*
        }
    };
}

pass_on!(ConversationStore {
    fn conversation(&self, id: &ConversationId) -> Option<Conversation>;
    fn raise_head(&self, id: &ConversationId, head: Seq) -> ();
    fn raise_imported_head(&self, id: &ConversationId, head: Seq) -> ();
    fn add_policy(&self, id: &ConversationId, switch: Switch<ReceiptsMode>) -> ();
    fn set_closed(&self, id: &ConversationId, closed: Latest) -> ();
    fn set_large(&self, id: &ConversationId) -> ();
});

pass_on!(MessageStore {
    fn raise_buckets(&self, id: &ConversationId, buckets: &[Bucket]) -> ();
    fn buckets(&self, id: &ConversationId, first: u64, last: u64, limit: usize) -> Vec<Bucket>;
    fn newest_buckets(&self, id: &ConversationId, limit: usize) -> Vec<Bucket>;
    fn write_messages(&self, messages: &[(Message, TimeMs)]) -> ();
    fn messages(&self, id: &ConversationId, first: Seq, last: Seq) -> Vec<Message>;
    fn add_flags(&self, id: &ConversationId, flags: &[(Seq, MessageFlags)]) -> ();
    fn flags(&self, id: &ConversationId, first: Seq, last: Seq, limit: usize) -> Vec<(Seq, MessageFlags)>;
    fn add_mentions(&self, id: &ConversationId, seq: Seq, uids: &[Uid]) -> ();
    fn add_mention_all(&self, id: &ConversationId, seq: Seq) -> ();
    fn mentions(&self, uid: Uid, id: &ConversationId, first: Seq, last: Seq, limit: usize) -> Vec<Seq>;
});

pass_on!(ReadArrayStore {
    fn add_readers(&self, adds: &[ReadArrayAdd]) -> ();
    fn read_arrays(&self, id: &ConversationId, seqs: &[Seq]) -> Vec<ReadArray>;
});

pass_on!(MemberStore {
    fn members(&self, id: &ConversationId) -> Vec<Member>;
    fn members_of(&self, id: &ConversationId, uids: &[Uid]) -> Vec<Option<Member>>;
    fn change_members(&self, id: &ConversationId, changes: &[MemberChange]) -> ();
    fn copy_switches(&self, id: &ConversationId, uid: Uid, switches: &UserSwitches) -> ();
});

pass_on!(UserStore {
    fn user_conversation(&self, uid: Uid, id: &ConversationId) -> Option<UserConversation>;
    fn user_conversations(&self, uid: Uid, after: Option<&ConversationId>, limit: usize) -> Vec<UserConversationEntry>;
    fn raise(&self, uid: Uid, id: &ConversationId, raises: &[Raise]) -> ();
    fn user_switches(&self, uid: Uid) -> UserSwitches;
    fn add_user_switch(&self, uid: Uid, switch: Switch<bool>) -> ();
});

pass_on!(DeadLetterStore {
    fn resolve_dead_letters(&self, resolutions: &[(LetterId, Resolution)]) -> ();
    fn resolutions(&self, partition: u32, first: u64, last: u64, limit: usize) -> Vec<(LetterId, Resolution)>;
});
