use super::MemoryStore;
use crate::error::StoreError;
use crate::port::UserStore;
use crate::row::{Raise, UserConversation, UserConversationEntry, apply_raises_to_member};
use async_trait::async_trait;
use readmark_domain::id::{ConversationId, Uid};
use readmark_domain::register::{Switch, UserSwitches};
use std::ops::Bound;

#[async_trait]
impl UserStore for MemoryStore {
    async fn user_conversation(
        &self,
        uid: Uid,
        id: &ConversationId,
    ) -> Result<Option<UserConversation>, StoreError> {
        Ok(self.tables().user_conversations.get(&uid).and_then(|of_user| of_user.get(id)).cloned())
    }

    async fn user_conversations(
        &self,
        uid: Uid,
        after: Option<&ConversationId>,
        limit: usize,
    ) -> Result<Vec<UserConversationEntry>, StoreError> {
        let tables = self.tables();
        let Some(of_user) = tables.user_conversations.get(&uid) else { return Ok(Vec::new()) };
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let page = of_user.range::<ConversationId, _>((from, Bound::Unbounded)).take(limit);
        let entries = page.map(|(id, registers)| UserConversationEntry {
            conversation_id: id.clone(),
            registers: registers.clone(),
        });
        Ok(entries.collect())
    }

    async fn raise(&self, uid: Uid, id: &ConversationId, raises: &[Raise]) -> Result<(), StoreError> {
        if raises.is_empty() {
            return Ok(());
        }
        let mut tables = self.tables();
        let registers = tables.user_conversation_mut(uid, id);
        for raise in raises {
            registers.apply(raise);
        }
        if raises.iter().any(Raise::is_copied_to_member) {
            apply_raises_to_member(tables.member_mut(id, uid), raises);
        }
        Ok(())
    }

    async fn user_switches(&self, uid: Uid) -> Result<UserSwitches, StoreError> {
        Ok(self.tables().user_switches.get(&uid).cloned().unwrap_or_default())
    }

    async fn add_user_switch(&self, uid: Uid, switch: Switch<bool>) -> Result<(), StoreError> {
        self.tables().user_switches.entry(uid).or_default().add(switch);
        Ok(())
    }
}
