//! The hot state, which is not opened until a role needs it.

use super::{Now, remedy};
use crate::config::{Config, HotKind};
use crate::exit::Failure;
use readmark_hot::HotState;
use readmark_hot::memory::MemoryHot;
use readmark_hot::redis::RedisHot;
use std::sync::Arc;

/// Opens it.
pub(super) async fn open_hot(config: &Config, now: Now) -> Result<Arc<dyn HotState>, Failure> {
    match config.hot.kind {
        HotKind::Memory => Ok(Arc::new(MemoryHot::with_random_epochs(now))),
        HotKind::Redis => {
            let options = config.hot.redis(&config.log.topic_prefix)?;
            Ok(Arc::new(RedisHot::open(&options).await.map_err(|error| remedy::hot_failure(&error))?))
        }
    }
}
