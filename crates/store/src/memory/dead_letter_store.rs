use super::MemoryStore;
use crate::error::StoreError;
use crate::port::DeadLetterStore;
use async_trait::async_trait;
use readmark_domain::dead_letter::{LetterId, Resolution};

#[async_trait]
impl DeadLetterStore for MemoryStore {
    async fn resolve_dead_letters(&self, resolutions: &[(LetterId, Resolution)]) -> Result<(), StoreError> {
        let mut tables = self.tables();
        for (id, resolution) in resolutions {
            let known = tables.resolutions.entry(*id).or_insert(*resolution);
            *known = known.merge(*resolution);
        }
        Ok(())
    }

    async fn resolutions(
        &self,
        partition: u32,
        first: u64,
        last: u64,
        limit: usize,
    ) -> Result<Vec<(LetterId, Resolution)>, StoreError> {
        if first > last {
            return Ok(Vec::new());
        }
        let range = LetterId { partition, offset: first }..=LetterId { partition, offset: last };
        Ok(self.tables().resolutions.range(range).map(|(id, known)| (*id, *known)).take(limit).collect())
    }
}
