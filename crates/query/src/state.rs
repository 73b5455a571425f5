use crate::large::LargeCache;
use crate::settings::QuerySettings;
use readmark_http::{Kind, Problem, Sure};
use readmark_runtime::ports::{Ports, Rules};
use readmark_sync::Live;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

/// How long a request waits for its turn to read: a store that is slower is overloaded.
const TURN_LIMIT: Duration = Duration::from_secs(1);

/// The query role.
pub struct Query {
    pub(crate) ports: Ports,
    pub(crate) rules: Rules,
    pub(crate) settings: QuerySettings,
    pub(crate) sure: Sure,
    pub(crate) large: LargeCache,
    pub(crate) live: Arc<Live>,
    turns: Semaphore,
}

impl Query {
    /// On these parts.
    #[must_use]
    pub fn new(ports: Ports, live: Arc<Live>, rules: Rules, settings: QuerySettings) -> Arc<Self> {
        Arc::new(Self {
            sure: Sure::new(&ports, &rules),
            large: LargeCache::new(settings.large_cache_uids),
            turns: Semaphore::new(settings.max_reads_in_flight),
            live,
            ports,
            rules,
            settings,
        })
    }

    /// Waits for a turn to read the store.
    pub(crate) async fn turn(&self) -> Result<SemaphorePermit<'_>, Problem> {
        match tokio::time::timeout(TURN_LIMIT, self.turns.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => {
                Err(Problem::new(Kind::Overloaded, "too many reads are waiting for the store"))
            }
        }
    }
}
