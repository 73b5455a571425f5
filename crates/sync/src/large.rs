//! Large conversations: what happens in them is told to nobody at once; whoever reads compares first.

use crate::apply::apply_until_counted;
use crate::error::SyncError;
use crate::user::READS_AT_ONCE;
use crate::whole::whole_change;
use futures::FutureExt;
use moka::future::Cache;
use readmark_domain::counting::MessageFlags;
use readmark_domain::hot::PictureRow;
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_hot::{HotState, UserChange};
use readmark_runtime::at_once;
use readmark_runtime::clock::Clock;
use readmark_store::lookup::all_flags;
use readmark_store::{Conversation, ReceiptStore, StoreError};
use std::sync::Arc;
use std::time::Duration;

/// How old what is known of a conversation may be. It is shared by all users, so that a conversation costs the store
/// two reads a second, however many follow it.
const SEEN_KEPT_MS: u64 = 1_000;

/// Conversations that are known so: about 300 bytes each, and 16 for each flag among the newest seqs.
const SEEN_MAX: u64 = 10_000;

/// Seqs below the head whose flags are looked at: a recall of an older message shows after [`TOLD_KEPT_MS`].
const NEWEST_SEQS: u64 = 1_000;

/// How long it is remembered what a user was told of a conversation. While that is all there is, nothing is read of
/// this user.
const TOLD_KEPT_MS: u64 = 60_000;

/// Users and conversations that this is remembered of: about 150 bytes each.
const TOLD_MAX: u64 = 100_000;

/// What of a conversation changes unread.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    conversation: Conversation,
    flags: Vec<(Seq, MessageFlags)>,
}

/// That, and since when it is known.
#[derive(Clone)]
struct Aged {
    seen: Arc<Seen>,
    at_ms: u64,
}

/// What is known of large conversations.
pub(crate) struct LargeConversations {
    hot: Arc<dyn HotState>,
    store: Arc<dyn ReceiptStore>,
    clock: Arc<dyn Clock>,
    seen: Cache<ConversationId, Aged>,
    told: Cache<(Uid, ConversationId), Aged>,
}

impl LargeConversations {
    pub fn new(hot: Arc<dyn HotState>, store: Arc<dyn ReceiptStore>, clock: Arc<dyn Clock>) -> Self {
        let kept = Duration::from_millis;
        Self {
            hot,
            store,
            clock,
            seen: Cache::builder().max_capacity(SEEN_MAX).time_to_live(kept(SEEN_KEPT_MS)).build(),
            told: Cache::builder().max_capacity(TOLD_MAX).time_to_live(kept(TOLD_KEPT_MS)).build(),
        }
    }

    fn is_younger(&self, known: &Aged, kept_ms: u64) -> bool {
        self.clock.elapsed_ms().saturating_sub(known.at_ms) < kept_ms
    }

    /// Tells the user's state what has happened in the large conversations among `rows`; says whether that changed
    /// anything.
    pub async fn catch_up(&self, uid: Uid, rows: &[PictureRow]) -> Result<bool, SyncError> {
        let large = rows.iter().filter(|row| row.is_large);
        let reads = large.map(|row| self.news(uid, row).boxed());
        let news = at_once::all(READS_AT_ONCE, reads.collect()).await?;
        let (changes, seen): (Vec<UserChange>, Vec<Arc<Seen>>) = news.into_iter().flatten().unzip();
        if changes.is_empty() {
            return Ok(false);
        }
        let mut has_changed = false;
        let told = apply_until_counted(&*self.hot, &*self.store, &changes).await;
        for ((told, change), seen) in told.into_iter().zip(changes).zip(seen) {
            if let Some(told) = told? {
                has_changed |= told.appended > 0;
                let aged = Aged { seen, at_ms: self.clock.elapsed_ms() };
                self.told.insert((uid, change.conversation_id), aged).await;
            }
        }
        Ok(has_changed)
    }

    /// What must be told of one conversation, if anything.
    async fn news(&self, uid: Uid, row: &PictureRow) -> Result<Option<(UserChange, Arc<Seen>)>, SyncError> {
        let (id, known) = (&row.conversation_id, &row.row);
        let seen = self.seen(id).await?;
        let (head, is_closed) = (seen.conversation.head, seen.conversation.is_closed());
        let is_behind = known.head < head || is_closed;
        // With nothing unread flags change nothing.
        if !is_behind && known.floor >= head {
            return Ok(None);
        }
        let told = self.told.get(&(uid, id.clone())).await.filter(|told| self.is_younger(told, TOLD_KEPT_MS));
        if !is_behind && told.is_some_and(|told| told.seen == seen) {
            return Ok(None);
        }
        let change = Arc::new(whole_change(&*self.store, uid, id).await?);
        Ok(Some((UserChange { uid, conversation_id: id.clone(), change }, seen)))
    }

    async fn seen(&self, id: &ConversationId) -> Result<Arc<Seen>, StoreError> {
        if self.seen.get(id).await.is_some_and(|known| !self.is_younger(&known, SEEN_KEPT_MS)) {
            self.seen.invalidate(id).await;
        }
        let read = async {
            let at_ms = self.clock.elapsed_ms();
            let conversation = self.store.conversation(id).await?.unwrap_or_default();
            let from = conversation.head.back(NEWEST_SEQS).next();
            let flags = all_flags(&*self.store, id, from, conversation.head).await?;
            Ok(Aged { seen: Arc::new(Seen { conversation, flags }), at_ms })
        };
        let known = self.seen.try_get_with_by_ref(id, read).await;
        known.map(|known| known.seen).map_err(|error: Arc<StoreError>| (*error).clone())
    }
}
