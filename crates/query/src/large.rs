//! Rows of large conversations, up to 30 s old. Nothing else is ever cached here.

use moka::future::Cache;
use readmark_domain::counting::Roster;
use readmark_domain::id::{ConversationId, Seq};
use readmark_domain::read_array::ReadArray;
use readmark_runtime::clock::Clock;
use readmark_store::StoreError;
use std::sync::Arc;
use std::time::Duration;

/// How old an answer about a large conversation may be.
const MAX_AGE_MS: u64 = 30_000;

/// Something read at a time.
#[derive(Clone)]
pub(crate) struct Aged<T> {
    pub value: Arc<T>,
    read_at_ms: u64,
    /// The head before it was read: it knows nothing of later messages.
    head: Seq,
}

impl<T> Aged<T> {
    pub fn age_ms(&self, clock: &dyn Clock) -> u64 {
        clock.elapsed_ms().saturating_sub(self.read_at_ms)
    }

    fn serves(&self, seq: Seq, clock: &dyn Clock) -> bool {
        self.age_ms(clock) < MAX_AGE_MS && seq <= self.head
    }
}

pub(crate) struct LargeCache {
    rosters: Cache<ConversationId, Aged<Roster>>,
    read_arrays: Cache<(ConversationId, Seq), Aged<ReadArray>>,
}

fn weight(uids: u64) -> u32 {
    u32::try_from(uids).unwrap_or(u32::MAX).saturating_add(1)
}

impl LargeCache {
    pub fn new(max_uids: u64) -> Self {
        let kept = Duration::from_millis(MAX_AGE_MS);
        Self {
            rosters: Cache::builder()
                .max_capacity(max_uids)
                .weigher(|_, roster: &Aged<Roster>| weight(roster.value.present_count()))
                .time_to_live(kept)
                .build(),
            read_arrays: Cache::builder()
                .max_capacity(max_uids)
                .weigher(|_, readers: &Aged<ReadArray>| weight(readers.value.len() as u64))
                .time_to_live(kept)
                .build(),
        }
    }

    /// The roster that knows of `seq`; read anew by `load` when there is none. Requests that miss at once
    /// read once. `head` is the head as read before.
    pub async fn roster(
        &self,
        id: &ConversationId,
        seq: Seq,
        head: Seq,
        clock: &dyn Clock,
        load: impl Future<Output = Result<Roster, StoreError>>,
    ) -> Result<Aged<Roster>, Arc<StoreError>> {
        if self.rosters.get(id).await.is_some_and(|known| !known.serves(seq, clock)) {
            self.rosters.invalidate(id).await;
        }
        let read = async {
            let read_at_ms = clock.elapsed_ms();
            Ok(Aged { value: Arc::new(load.await?), read_at_ms, head: head.max(seq) })
        };
        self.rosters.try_get_with_by_ref(id, read).await
    }

    /// The read array of a message; read anew by `load` when there is none.
    pub async fn readers(
        &self,
        id: &ConversationId,
        seq: Seq,
        clock: &dyn Clock,
        load: impl Future<Output = Result<ReadArray, StoreError>>,
    ) -> Result<Aged<ReadArray>, Arc<StoreError>> {
        let key = (id.clone(), seq);
        if self.read_arrays.get(&key).await.is_some_and(|known| !known.serves(seq, clock)) {
            self.read_arrays.invalidate(&key).await;
        }
        let read = async {
            let read_at_ms = clock.elapsed_ms();
            Ok(Aged { value: Arc::new(load.await?), read_at_ms, head: seq })
        };
        self.read_arrays.try_get_with(key, read).await
    }
}
