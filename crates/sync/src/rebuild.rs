//! Rebuilds of users' hot states from the store.

use crate::error::SyncError;
use crate::fill::{Filled, fill};
use crate::flights::Flights;
use crate::metrics::HotMetrics;
use crate::pace::Pace;
use crate::settings::LiveSettings;
use readmark_domain::hot::Epoch;
use readmark_domain::id::Uid;
use readmark_hot::{Begun, HotState, REBUILD_LEASE_MS};
use readmark_runtime::clock::Clock;
use readmark_store::ReceiptStore;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// How long a caller waits for a rebuild. It goes on without it; by then the answer is computed from the store.
const WAIT_MS: u64 = 3_000;

/// Users whose rebuilds are under way or wait for their turn: what the pace gets through in some seconds. More are
/// refused at once, since nobody waits that long.
const WAITING_MAX: usize = 1_000;

/// Beginnings of one rebuild: each further one is a state that was lost while it was being made.
const BEGINNINGS_MAX: u32 = 3;

/// Pauses between two looks at another process's rebuild: most take some milliseconds, long ones some seconds.
const FIRST_LOOK_MS: u64 = 10;
const LATER_LOOKS_MS: u64 = 200;

/// How long another process's rebuild is watched: after its lease its place is taken, so this is never reached unless
/// rebuilds die one after the other.
const RUNNING_MAX_MS: u64 = 2 * REBUILD_LEASE_MS;

/// Rebuilds: one per user at a time, few at once, at a pace.
pub(crate) struct Rebuilds {
    hot: Arc<dyn HotState>,
    store: Arc<dyn ReceiptStore>,
    clock: Arc<dyn Clock>,
    metrics: HotMetrics,
    flights: Arc<Flights<Uid, Result<(), SyncError>>>,
    room: Semaphore,
    pace: Pace,
}

impl Rebuilds {
    pub fn new(
        hot: Arc<dyn HotState>,
        store: Arc<dyn ReceiptStore>,
        clock: Arc<dyn Clock>,
        metrics: HotMetrics,
        settings: &LiveSettings,
    ) -> Arc<Self> {
        Arc::new(Self {
            hot,
            store,
            clock,
            metrics,
            flights: Flights::new(WAITING_MAX),
            room: Semaphore::new(settings.rebuilds_at_once),
            pace: Pace::new(settings.rebuilds_per_s),
        })
    }

    /// Waits until the user has a whole state, and makes it if nobody else does.
    pub async fn ensure(self: &Arc<Self>, uid: Uid) -> Result<(), SyncError> {
        let this = self.clone();
        let work = async move { this.rebuild(uid).await };
        let not_rebuilt = |why| SyncError::NotRebuilt { uid, why };
        let flight = self.flights.join(uid, work).ok_or(not_rebuilt("too many others are being rebuilt"))?;
        tokio::select! {
            outcome = flight => outcome.unwrap_or(Err(not_rebuilt("the rebuild broke off"))),
            () = self.clock.sleep_ms(WAIT_MS) => Err(not_rebuilt("it is still being rebuilt")),
        }
    }

    async fn rebuild(&self, uid: Uid) -> Result<(), SyncError> {
        self.clock.sleep_ms(self.pace.take(self.clock.elapsed_ms())).await;
        let give_up_ms = self.clock.elapsed_ms() + RUNNING_MAX_MS;
        let not_rebuilt = |why| SyncError::NotRebuilt { uid, why };
        let (mut beginnings, mut pause_ms) = (0, FIRST_LOOK_MS);
        while beginnings < BEGINNINGS_MAX {
            let room = self.room.acquire().await.map_err(|_| not_rebuilt("the process stops"))?;
            match self.hot.begin_rebuild(uid).await? {
                Begun::Complete => return Ok(()),
                Begun::Rebuild(epoch) => {
                    beginnings += 1;
                    if self.fill_or_forget(uid, &epoch).await? {
                        return Ok(());
                    }
                }
                Begun::Running => {
                    drop(room);
                    if self.clock.elapsed_ms() >= give_up_ms {
                        return Err(not_rebuilt("others began its rebuild and did not end it"));
                    }
                    self.clock.sleep_ms(pause_ms).await;
                    pause_ms = (pause_ms * 2).min(LATER_LOOKS_MS);
                }
            }
        }
        Err(not_rebuilt("it was lost each time while it was being rebuilt"))
    }

    /// Says whether it is whole now. What failed is forgotten, so that the next one need not wait for its lease.
    async fn fill_or_forget(&self, uid: Uid, epoch: &Epoch) -> Result<bool, SyncError> {
        match fill(&*self.hot, &*self.store, uid, epoch).await {
            Ok(Filled::Whole) => {
                self.metrics.rebuilds_total.inc();
                Ok(true)
            }
            Ok(Filled::Lost) => Ok(false),
            Err(error) => {
                if let Err(error) = self.hot.forget(uid).await {
                    tracing::debug!(%uid, %error, "a rebuild that failed is not forgotten: its lease will end");
                }
                Err(error)
            }
        }
    }
}
