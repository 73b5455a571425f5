//! What devices read: the picture of a user, and what follows a token.

use crate::derived::{derived_picture, derived_token};
use crate::error::SyncError;
use crate::fill::{count_missing, tell_all};
use crate::large::LargeConversations;
use crate::metrics::HotMetrics;
use crate::rebuild::Rebuilds;
use crate::settings::LiveSettings;
use moka::future::Cache;
use prometheus::Registry;
use readmark_domain::hot::{Entry, Picture, PictureRow, SyncToken, Synced};
use readmark_domain::id::{ConversationId, Uid};
use readmark_hot::{Held, HotError, HotState};
use readmark_runtime::clock::Clock;
use readmark_runtime::ports::Ports;
use readmark_store::ReceiptStore;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

/// How often one call reads a state anew: after a rebuild, and when the state is lost just then.
const READS_MAX: u32 = 4;

/// A user's call makes its state live on; what one process has said an hour ago at most is not said again, since the
/// state lives for 30 days.
const TOUCHED_KEPT_MS: u64 = 3_600_000;

/// How long the list of a user's large conversations serves: a conversation that becomes large is followed as one
/// after this time at the latest, and a stream is read without looking through the whole picture.
const LARGE_KEPT_MS: u64 = 10_000;

/// Users that this is remembered of: about 100 bytes each, and 100 for each large conversation.
const USERS_REMEMBERED_MAX: u64 = 100_000;

/// How long a picture waits for its turn to be computed from the store: a store that is slower is overloaded.
const DERIVED_WAIT_MS: u64 = 1_000;

/// How long it is remembered of whom something was computed from the store: far longer than a notifier needs to tell the
/// hot state as much, once both are back.
const DERIVED_KEPT_MS: u64 = 600_000;

/// How often the size of the hot state is read for the metrics.
const USAGE_EVERY_MS: u64 = 15_000;

/// What follows a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed {
    /// That.
    pub news: News,
    /// Is the user in large conversations? Nobody is woken for what happens there: follow again in a moment.
    pub has_large: bool,
}

/// What a device is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// Entries, or none when there is nothing new.
    Entries {
        /// Ascending, without gaps; from right after the token asked with.
        entries: Vec<Entry>,
        /// After the last of them.
        token: SyncToken,
        /// Go on asking?
        more: bool,
    },
    /// The token is too old, of another epoch, or there was none: this takes the place of all that the device has.
    Snapshot(Box<Picture>),
}

/// Reads users' hot states, rebuilt and caught up as needed; while the hot state is away, what the store knows.
pub struct Live {
    hot: Arc<dyn HotState>,
    store: Arc<dyn ReceiptStore>,
    clock: Arc<dyn Clock>,
    metrics: HotMetrics,
    rebuilds: Arc<Rebuilds>,
    large: LargeConversations,
    derived: Semaphore,
    derived_lately: Cache<Uid, ()>,
    remembered: Cache<Uid, Remembered>,
}

/// What is remembered of a user.
#[derive(Clone)]
struct Remembered {
    touched_at_ms: u64,
    /// Its large conversations, and when that was read.
    large: Option<(Arc<[ConversationId]>, u64)>,
}

impl Live {
    /// On these parts; one for a process.
    ///
    /// # Errors
    /// When its metrics are registered already.
    pub fn new(
        ports: &Ports,
        hot: Arc<dyn HotState>,
        settings: &LiveSettings,
        registry: &Registry,
    ) -> Result<Arc<Self>, prometheus::Error> {
        let metrics = HotMetrics::register(registry)?;
        let (store, clock) = (ports.store.clone(), ports.clock.clone());
        let rebuilds = Rebuilds::new(hot.clone(), store.clone(), clock.clone(), metrics.clone(), settings);
        let large = LargeConversations::new(hot.clone(), store.clone(), clock.clone());
        let remembered = Cache::builder()
            .max_capacity(USERS_REMEMBERED_MAX)
            .time_to_live(Duration::from_millis(TOUCHED_KEPT_MS))
            .build();
        let derived = Semaphore::new(settings.derived_at_once);
        let derived_lately = Cache::builder()
            .max_capacity(USERS_REMEMBERED_MAX)
            .time_to_live(Duration::from_millis(DERIVED_KEPT_MS))
            .build();
        Ok(Arc::new(Self {
            hot,
            store,
            clock,
            metrics,
            rebuilds,
            large,
            derived,
            derived_lately,
            remembered,
        }))
    }

    /// A user's picture, all at one moment, large conversations included. While the hot state is away, or a rebuild
    /// takes too long, it is computed from the store: [`Live::is_derived`] tells by its token.
    ///
    /// # Errors
    /// The store's; [`SyncError::Overloaded`] when too many pictures are being computed. Never a picture in part, and
    /// never zero for what is not known (RR-10).
    pub async fn picture(&self, uid: Uid) -> Result<Picture, SyncError> {
        self.picture_after(uid, self.derived_lately.contains_key(&uid)).await
    }

    /// As [`Live::picture`], for whom may have been told what was computed from the store.
    async fn picture_after(&self, uid: Uid, was_derived: bool) -> Result<Picture, SyncError> {
        let picture = async {
            if was_derived {
                self.level(uid).await?;
            }
            self.hot_picture(uid).await
        };
        match picture.await {
            Err(error) => self.derive_instead(uid, error).await,
            picture => picture,
        }
    }

    /// What the store said while the hot state was away is not taken back by a state that is still behind (RR-3): it is
    /// told as much first.
    async fn level(&self, uid: Uid) -> Result<(), SyncError> {
        if !matches!(self.hot.touch(uid).await?, Held::Missing) {
            let _turn = self.turn(uid).await?;
            tell_all(&*self.hot, &*self.store, uid).await?;
        }
        self.derived_lately.invalidate(&uid).await;
        Ok(())
    }

    /// At most `limit` entries (1 at least) after a token, else a snapshot; large conversations are looked at first.
    ///
    /// # Errors
    /// As [`Live::picture`].
    pub async fn follow(
        &self,
        uid: Uid,
        since: Option<&SyncToken>,
        limit: usize,
    ) -> Result<Followed, SyncError> {
        if let Some(since) = since.filter(|since| !Self::is_derived(since)) {
            match self.hot_entries(uid, since, limit).await {
                Ok(Some(followed)) => return Ok(followed),
                Ok(None) => {}
                Err(error) => {
                    let picture = self.derive_instead(uid, error).await?;
                    return Ok(snapshot(picture));
                }
            }
        }
        let was_derived = since.is_some_and(Self::is_derived) || self.derived_lately.contains_key(&uid);
        self.picture_after(uid, was_derived).await.map(snapshot)
    }

    /// Was what bears this token computed from the store?
    #[must_use]
    pub fn is_derived(token: &SyncToken) -> bool {
        token.epoch == derived_token().epoch
    }

    /// Shows the size of the hot state in the metrics, and says in the log when it is away, until `stop`.
    pub async fn watch_usage(self: Arc<Self>, stop: CancellationToken) {
        while !stop.is_cancelled() {
            match self.hot.usage().await {
                Ok(usage) => self.metrics.show(usage),
                Err(error) => {
                    tracing::warn!(%error, "no hot state: what is unread is computed from the store")
                }
            }
            tokio::select! {
                () = self.clock.sleep_ms(USAGE_EVERY_MS) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    /// What the store knows, when it was the hot state that failed.
    async fn derive_instead(&self, uid: Uid, error: SyncError) -> Result<Picture, SyncError> {
        match error {
            SyncError::Hot(_) | SyncError::NotRebuilt { .. } | SyncError::Unsettled { .. } => {}
            SyncError::Store(_) | SyncError::Overloaded { .. } => return Err(error),
        }
        tracing::debug!(%uid, %error, "computed from the store instead");
        let _turn = self.turn(uid).await?;
        let picture = derived_picture(&*self.store, uid).await?;
        self.derived_lately.insert(uid, ()).await;
        Ok(picture)
    }

    /// Whole pictures are read from the store by a few at once.
    async fn turn(&self, uid: Uid) -> Result<SemaphorePermit<'_>, SyncError> {
        let turn = tokio::select! {
            turn = self.derived.acquire() => turn.ok(),
            () = self.clock.sleep_ms(DERIVED_WAIT_MS) => None,
        };
        turn.ok_or(SyncError::Overloaded { uid })
    }

    async fn hot_picture(&self, uid: Uid) -> Result<Picture, SyncError> {
        self.touch(uid).await?;
        let mut is_settled = false;
        for _ in 0..READS_MAX {
            let Held::Complete(picture) = self.hot.picture(uid, None).await? else {
                self.rebuilds.ensure(uid).await?;
                continue;
            };
            if is_settled || !self.settle(uid, &picture.rows).await? {
                self.remember_large(uid, &picture.rows).await;
                return Ok(picture);
            }
            is_settled = true;
        }
        Err(SyncError::NotRebuilt { uid, why: "it was lost again and again" })
    }

    /// Brings late rows up to now; says whether the picture must be read again.
    async fn settle(&self, uid: Uid, rows: &[PictureRow]) -> Result<bool, SyncError> {
        let late =
            rows.iter().filter_map(|row| row.to_count.map(|range| (row.conversation_id.clone(), range)));
        let late: Vec<_> = late.collect();
        let was_late = !late.is_empty();
        if was_late {
            count_missing(&*self.hot, &*self.store, uid, late).await?;
        }
        Ok(self.large.catch_up(uid, rows).await? || was_late)
    }

    /// `None` when a snapshot must follow.
    async fn hot_entries(
        &self,
        uid: Uid,
        since: &SyncToken,
        limit: usize,
    ) -> Result<Option<Followed>, SyncError> {
        self.touch(uid).await?;
        let Some(large) = self.large_of(uid).await? else { return Ok(None) };
        if !large.is_empty() {
            self.catch_up(uid, &large).await?;
        }
        let has_large = !large.is_empty();
        Ok(match self.hot.entries(uid, since, limit.max(1)).await? {
            Held::Complete(Synced::Entries { entries, token, more }) => {
                Some(Followed { news: News::Entries { entries, token, more }, has_large })
            }
            Held::Complete(Synced::TooOld) | Held::Missing | Held::Incomplete => None,
        })
    }

    /// Entries are right also without what happened in large conversations, only not the newest: a store that is
    /// away does not keep them back.
    async fn catch_up(&self, uid: Uid, large: &[ConversationId]) -> Result<(), SyncError> {
        let Held::Complete(picture) = self.hot.picture(uid, Some(large)).await? else { return Ok(()) };
        match self.large.catch_up(uid, &picture.rows).await {
            Err(error @ (SyncError::Store(_) | SyncError::Unsettled { .. })) => {
                tracing::warn!(%uid, %error, "large conversations are told later");
                Ok(())
            }
            caught_up => caught_up.map(|_| ()),
        }
    }

    /// The user's large conversations; `None` when there is no state to be read.
    async fn large_of(&self, uid: Uid) -> Result<Option<Arc<[ConversationId]>>, SyncError> {
        let now_ms = self.clock.elapsed_ms();
        let known = self.remembered.get(&uid).await.and_then(|remembered| remembered.large);
        if let Some((large, _)) = known.filter(|(_, at_ms)| now_ms.saturating_sub(*at_ms) < LARGE_KEPT_MS) {
            return Ok(Some(large));
        }
        match self.hot.picture(uid, None).await? {
            Held::Complete(picture) => Ok(Some(self.remember_large(uid, &picture.rows).await)),
            Held::Missing | Held::Incomplete => Ok(None),
        }
    }

    async fn remember_large(&self, uid: Uid, rows: &[PictureRow]) -> Arc<[ConversationId]> {
        let large = rows.iter().filter(|row| row.is_large).map(|row| row.conversation_id.clone());
        let large: Arc<[ConversationId]> = large.collect();
        let now_ms = self.clock.elapsed_ms();
        let touched_at_ms = self.remembered.get(&uid).await.map_or(0, |known| known.touched_at_ms);
        let remembered = Remembered { touched_at_ms, large: Some((large.clone(), now_ms)) };
        self.remembered.insert(uid, remembered).await;
        large
    }

    /// The user has called.
    async fn touch(&self, uid: Uid) -> Result<(), HotError> {
        let now_ms = self.clock.elapsed_ms();
        let known = self.remembered.get(&uid).await;
        let is_touched = |known: &Remembered| now_ms.saturating_sub(known.touched_at_ms) < TOUCHED_KEPT_MS;
        if known.as_ref().is_some_and(is_touched) {
            return Ok(());
        }
        self.hot.touch(uid).await?;
        let large = known.and_then(|known| known.large);
        self.remembered.insert(uid, Remembered { touched_at_ms: now_ms, large }).await;
        Ok(())
    }
}

fn snapshot(picture: Picture) -> Followed {
    let has_large = picture.rows.iter().any(|row| row.is_large);
    Followed { news: News::Snapshot(Box::new(picture)), has_large }
}
