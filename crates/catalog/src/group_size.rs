//! How many members a conversation has: decides chunks of read arrays and whether it is large.

use readmark_domain::id::ConversationId;
use readmark_domain::window::LARGE_GROUP_MEMBERS;
use readmark_runtime::ports::Ports;
use readmark_runtime::retry::Retrier;
use readmark_store::StoreError;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Conversations whose size is remembered; beyond it all are forgotten and counted again when needed.
const REMEMBERED: usize = 10_000;
/// How long a size is good: chunks need it only roughly.
const GOOD_FOR_MS: u64 = 10_000;

#[derive(Debug, Clone, Copy)]
struct Size {
    present: u64,
    counted_at_ms: u64,
}

/// Sizes of conversations, counted from the store.
pub(crate) struct GroupSizes {
    ports: Ports,
    retrier: Retrier,
    sizes: Mutex<HashMap<ConversationId, Size>>,
}

impl GroupSizes {
    pub fn new(ports: Ports, retrier: Retrier) -> Self {
        Self { ports, retrier, sizes: Mutex::default() }
    }

    /// Present members, at most 10 s old.
    pub async fn present(&self, id: &ConversationId) -> Result<u64, StoreError> {
        let now_ms = self.ports.clock.elapsed_ms();
        if let Some(size) = self.remembered(id)
            && now_ms.saturating_sub(size.counted_at_ms) < GOOD_FOR_MS
        {
            return Ok(size.present);
        }
        self.count(id).await
    }

    /// After a change of the roster by up to `changed` members: counts again only where the conversation
    /// may have grown large, and marks it then.
    pub async fn after_change(&self, id: &ConversationId, changed: u64) -> Result<(), StoreError> {
        let at_most = match self.remembered(id) {
            Some(size) => size.present.saturating_add(changed),
            None => u64::MAX,
        };
        if at_most <= LARGE_GROUP_MEMBERS {
            self.remember(id, at_most);
            return Ok(());
        }
        if self.count(id).await? > LARGE_GROUP_MEMBERS {
            self.retrier.run(|| self.ports.store.set_large(id)).await?;
        }
        Ok(())
    }

    async fn count(&self, id: &ConversationId) -> Result<u64, StoreError> {
        let members = self.retrier.run(|| self.ports.store.members(id)).await?;
        let present = members.iter().filter(|member| member.is_present()).count() as u64;
        self.remember(id, present);
        Ok(present)
    }

    fn remembered(&self, id: &ConversationId) -> Option<Size> {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner).get(id).copied()
    }

    fn remember(&self, id: &ConversationId, present: u64) {
        let counted_at_ms = self.ports.clock.elapsed_ms();
        let mut sizes = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
        if sizes.len() >= REMEMBERED && !sizes.contains_key(id) {
            sizes.clear();
        }
        sizes.insert(id.clone(), Size { present, counted_at_ms });
    }
}
