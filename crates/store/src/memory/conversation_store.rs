use super::MemoryStore;
use crate::error::StoreError;
use crate::port::ConversationStore;
use crate::row::Conversation;
use async_trait::async_trait;
use readmark_domain::id::{ConversationId, Seq};
use readmark_domain::register::{Latest, ReceiptsMode, Switch};

impl MemoryStore {
    fn change_conversation(&self, id: &ConversationId, change: impl FnOnce(&mut Conversation)) {
        change(self.tables().conversations.entry(id.clone()).or_default());
    }
}

#[async_trait]
impl ConversationStore for MemoryStore {
    async fn conversation(&self, id: &ConversationId) -> Result<Option<Conversation>, StoreError> {
        Ok(self.tables().conversations.get(id).cloned())
    }

    async fn raise_head(&self, id: &ConversationId, head: Seq) -> Result<(), StoreError> {
        self.change_conversation(id, |c| c.head = c.head.max(head));
        Ok(())
    }

    async fn raise_imported_head(&self, id: &ConversationId, head: Seq) -> Result<(), StoreError> {
        self.change_conversation(id, |c| {
            c.imported_head = c.imported_head.max(head);
            c.head = c.head.max(head);
        });
        Ok(())
    }

    async fn add_policy(&self, id: &ConversationId, switch: Switch<ReceiptsMode>) -> Result<(), StoreError> {
        self.change_conversation(id, |c| {
            c.policy.add(switch);
        });
        Ok(())
    }

    async fn set_closed(&self, id: &ConversationId, closed: Latest) -> Result<(), StoreError> {
        self.change_conversation(id, |c| c.closed = c.closed.max(Some(closed)));
        Ok(())
    }

    async fn set_large(&self, id: &ConversationId) -> Result<(), StoreError> {
        self.change_conversation(id, |c| c.large = true);
        Ok(())
    }
}
