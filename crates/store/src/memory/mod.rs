//! The store in memory: as simple as it can be, for the simulation and as what other adapters are compared
//! with. Keeps everything for the life of the process; nothing is durable.

mod conversation_store;
mod dead_letter_store;
mod member_store;
mod message_store;
mod read_array_store;
mod user_store;

use crate::error::StoreError;
use crate::port::ReceiptStore;
use crate::row::{Bucket, Conversation, UserConversation};
use async_trait::async_trait;
use readmark_domain::counting::{Member, Message, MessageFlags};
use readmark_domain::dead_letter::{LetterId, Resolution};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::register::UserSwitches;
use readmark_domain::time::TimeMs;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What time it is, for expiry.
pub type Now = Arc<dyn Fn() -> TimeMs + Send + Sync>;

/// A receipt store in memory.
pub struct MemoryStore {
    now: Now,
    tables: Mutex<Tables>,
}

/// A value and when it expires.
struct Expiring<T> {
    value: T,
    expires_at: TimeMs,
}

impl<T> Expiring<T> {
    fn is_alive(&self, now: TimeMs) -> bool {
        now < self.expires_at
    }
}

#[derive(Default)]
struct Tables {
    conversations: BTreeMap<ConversationId, Conversation>,
    messages: BTreeMap<(ConversationId, Seq), Expiring<Message>>,
    buckets: BTreeMap<(ConversationId, u64), Bucket>,
    flags: BTreeMap<(ConversationId, Seq), MessageFlags>,
    mentions: BTreeSet<(Uid, ConversationId, Seq)>,
    mentions_of_all: BTreeSet<(ConversationId, Seq)>,
    /// When each reader of a message expires.
    readers: BTreeMap<(ConversationId, Seq), BTreeMap<Uid, TimeMs>>,
    members: BTreeMap<(ConversationId, Uid), Member>,
    user_conversations: BTreeMap<Uid, BTreeMap<ConversationId, UserConversation>>,
    user_switches: BTreeMap<Uid, UserSwitches>,
    resolutions: BTreeMap<LetterId, Resolution>,
}

impl Tables {
    /// The member's row, made when there is none.
    fn member_mut(&mut self, id: &ConversationId, uid: Uid) -> &mut Member {
        self.members.entry((id.clone(), uid)).or_insert_with(|| Member { uid, ..Member::default() })
    }

    /// The user's row, made when there is none.
    fn user_conversation_mut(&mut self, uid: Uid, id: &ConversationId) -> &mut UserConversation {
        self.user_conversations.entry(uid).or_default().entry(id.clone()).or_default()
    }
}

impl MemoryStore {
    /// An empty store that takes the time of `now`.
    #[must_use]
    pub fn new(now: Now) -> Self {
        Self { now, tables: Mutex::default() }
    }

    fn now(&self) -> TimeMs {
        (self.now)()
    }

    /// The tables, for one port call: a call is atomic. A panic elsewhere can't have left a half-done merge
    /// that another call would not complete, so a poisoned lock is taken as it is.
    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}

/// The keys `(id, first) ..= (id, last)`; `None` when there can be none, which a map would panic at.
fn keys<K: Ord>(id: &ConversationId, first: K, last: K) -> Option<RangeInclusive<(ConversationId, K)>> {
    (first <= last).then(|| (id.clone(), first)..=(id.clone(), last))
}

#[async_trait]
impl ReceiptStore for MemoryStore {
    async fn probe(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
