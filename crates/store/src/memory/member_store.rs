use super::{MemoryStore, keys};
use crate::error::StoreError;
use crate::port::MemberStore;
use crate::row::{MemberChange, apply_change_to_member};
use async_trait::async_trait;
use readmark_domain::counting::Member;
use readmark_domain::id::{ConversationId, Uid};
use readmark_domain::register::UserSwitches;

#[async_trait]
impl MemberStore for MemoryStore {
    async fn members(&self, id: &ConversationId) -> Result<Vec<Member>, StoreError> {
        let last = Uid::new(Uid::MAX).unwrap_or_default();
        let Some(range) = keys(id, Uid::default(), last) else { return Ok(Vec::new()) };
        Ok(self.tables().members.range(range).map(|(_, member)| member.clone()).collect())
    }

    async fn members_of(&self, id: &ConversationId, uids: &[Uid]) -> Result<Vec<Option<Member>>, StoreError> {
        let tables = self.tables();
        Ok(uids.iter().map(|uid| tables.members.get(&(id.clone(), *uid)).cloned()).collect())
    }

    async fn change_members(&self, id: &ConversationId, changes: &[MemberChange]) -> Result<(), StoreError> {
        let mut tables = self.tables();
        for change in changes {
            apply_change_to_member(tables.member_mut(id, change.uid), change);
            tables.user_conversation_mut(change.uid, id).apply_change(change);
        }
        Ok(())
    }

    async fn copy_switches(
        &self,
        id: &ConversationId,
        uid: Uid,
        switches: &UserSwitches,
    ) -> Result<(), StoreError> {
        if !switches.is_empty() {
            self.tables().member_mut(id, uid).switches.merge(switches);
        }
        Ok(())
    }
}
