use super::table::CONVERSATIONS;
use super::{EmbeddedStore, key};
use crate::error::StoreError;
use crate::port::ConversationStore;
use crate::row::Conversation;
use async_trait::async_trait;
use readmark_domain::id::{ConversationId, Seq};
use readmark_domain::register::{Latest, ReceiptsMode, Switch};

impl EmbeddedStore {
    async fn change_conversation(
        &self,
        operation: &'static str,
        id: &ConversationId,
        change: impl Fn(&mut Conversation) + Send + 'static,
    ) -> Result<(), StoreError> {
        let key = key::of_conversation(id);
        let job = move |txn: &_| CONVERSATIONS.merge(&mut CONVERSATIONS.write(txn)?, &key, &change);
        self.write(operation, || format!("conversations {id}"), job).await
    }
}

#[async_trait]
impl ConversationStore for EmbeddedStore {
    async fn conversation(&self, id: &ConversationId) -> Result<Option<Conversation>, StoreError> {
        let key = key::of_conversation(id);
        let job = move |txn: &_| CONVERSATIONS.get(&CONVERSATIONS.read(txn)?, &key);
        self.read("read a conversation", || format!("conversations {id}"), job).await
    }

    async fn raise_head(&self, id: &ConversationId, head: Seq) -> Result<(), StoreError> {
        self.change_conversation("raise a head", id, move |c| c.head = c.head.max(head)).await
    }

    async fn raise_imported_head(&self, id: &ConversationId, head: Seq) -> Result<(), StoreError> {
        let change = move |c: &mut Conversation| {
            c.imported_head = c.imported_head.max(head);
            c.head = c.head.max(head);
        };
        self.change_conversation("raise an imported head", id, change).await
    }

    async fn add_policy(&self, id: &ConversationId, switch: Switch<ReceiptsMode>) -> Result<(), StoreError> {
        let change = move |c: &mut Conversation| {
            c.policy.add(switch);
        };
        self.change_conversation("add a policy switch", id, change).await
    }

    async fn set_closed(&self, id: &ConversationId, closed: Latest) -> Result<(), StoreError> {
        self.change_conversation("set closed", id, move |c| c.closed = c.closed.max(Some(closed))).await
    }

    async fn set_large(&self, id: &ConversationId) -> Result<(), StoreError> {
        self.change_conversation("set large", id, |c| c.large = true).await
    }
}
