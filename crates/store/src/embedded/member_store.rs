use super::table::{MEMBERS, USER_CONVERSATIONS};
use super::{EmbeddedStore, key};
use crate::error::StoreError;
use crate::port::MemberStore;
use crate::row::{MemberChange, UserConversation, apply_change_to_member};
use async_trait::async_trait;
use readmark_domain::counting::Member;
use readmark_domain::id::{ConversationId, Uid};
use readmark_domain::register::UserSwitches;

#[async_trait]
impl MemberStore for EmbeddedStore {
    async fn members(&self, id: &ConversationId) -> Result<Vec<Member>, StoreError> {
        let Some(range) = key::range(id, 0, Uid::MAX) else { return Ok(Vec::new()) };
        let job = move |txn: &_| {
            let table = MEMBERS.read(txn)?;
            let mut members = Vec::new();
            for row in table.range(key::bounds(&range))? {
                let (key, value) = row?;
                let uid = MEMBERS.part(&key, |key| Uid::new(key::last_number(key)?).ok())?;
                members.push(Member { uid, ..MEMBERS.decode(&key, &value)? });
            }
            Ok(members)
        };
        self.read("read members", || format!("members {id}"), job).await
    }

    async fn members_of(&self, id: &ConversationId, uids: &[Uid]) -> Result<Vec<Option<Member>>, StoreError> {
        let keys: Vec<_> = uids.iter().map(|uid| (*uid, key::in_conversation(id, uid.get()))).collect();
        let job = move |txn: &_| {
            let table = MEMBERS.read(txn)?;
            let row = |(uid, key): (Uid, Vec<u8>)| {
                let member = MEMBERS.get::<Member>(&table, &key)?;
                Ok(member.map(|member| Member { uid, ..member }))
            };
            keys.into_iter().map(row).collect()
        };
        self.read("read members", || format!("members {id}, {} users", uids.len()), job).await
    }

    async fn change_members(&self, id: &ConversationId, changes: &[MemberChange]) -> Result<(), StoreError> {
        if changes.is_empty() {
            return Ok(());
        }
        let (conversation, owned) = (id.clone(), changes.to_vec());
        let job = move |txn: &_| {
            let (mut members, mut users) = (MEMBERS.write(txn)?, USER_CONVERSATIONS.write(txn)?);
            for change in &owned {
                let key = key::in_conversation(&conversation, change.uid.get());
                MEMBERS.merge(&mut members, &key, |row| apply_change_to_member(row, change))?;
                let key = key::of_user_conversation(change.uid, &conversation);
                USER_CONVERSATIONS
                    .merge(&mut users, &key, |row: &mut UserConversation| row.apply_change(change))?;
            }
            Ok(())
        };
        self.write("change members", || format!("members {id}, {} changes", changes.len()), job).await
    }

    async fn copy_switches(
        &self,
        id: &ConversationId,
        uid: Uid,
        switches: &UserSwitches,
    ) -> Result<(), StoreError> {
        if switches.is_empty() {
            return Ok(());
        }
        let (key, switches) = (key::in_conversation(id, uid.get()), switches.clone());
        let job = move |txn: &_| {
            MEMBERS.merge(&mut MEMBERS.write(txn)?, &key, |row: &mut Member| {
                row.switches.merge(&switches);
            })
        };
        self.write("copy switches", || format!("members {id} {uid}"), job).await
    }
}
