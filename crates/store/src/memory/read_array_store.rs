use super::MemoryStore;
use crate::error::StoreError;
use crate::port::ReadArrayStore;
use crate::row::ReadArrayAdd;
use async_trait::async_trait;
use readmark_domain::id::{ConversationId, Seq};
use readmark_domain::read_array::ReadArray;

#[async_trait]
impl ReadArrayStore for MemoryStore {
    async fn add_readers(&self, adds: &[ReadArrayAdd]) -> Result<(), StoreError> {
        let now = self.now();
        let mut tables = self.tables();
        for add in adds.iter().filter(|add| now < add.message_expires_at && !add.readers.is_empty()) {
            // One set without chunks: their union is all that a reader of the store may see.
            let readers = tables.readers.entry((add.conversation_id.clone(), add.seq)).or_default();
            for reader in &add.readers {
                let expires_at = readers.entry(*reader).or_default();
                *expires_at = (*expires_at).max(add.readers_expire_at());
            }
        }
        Ok(())
    }

    async fn read_arrays(&self, id: &ConversationId, seqs: &[Seq]) -> Result<Vec<ReadArray>, StoreError> {
        let now = self.now();
        let tables = self.tables();
        let arrays = seqs.iter().map(|seq| {
            let readers = tables.readers.get(&(id.clone(), *seq)).into_iter().flatten();
            readers.filter(|(_, expires_at)| now < **expires_at).map(|(reader, _)| *reader).collect()
        });
        Ok(arrays.collect())
    }
}
