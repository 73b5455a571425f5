use super::table::{MEMBERS, USER_CONVERSATIONS, USER_SETTINGS};
use super::{EmbeddedStore, key};
use crate::error::StoreError;
use crate::port::UserStore;
use crate::row::{Raise, UserConversation, UserConversationEntry, apply_raises_to_member};
use async_trait::async_trait;
use readmark_domain::id::{ConversationId, Uid};
use readmark_domain::register::{Switch, UserSwitches};
use std::ops::Bound;

#[async_trait]
impl UserStore for EmbeddedStore {
    async fn user_conversation(
        &self,
        uid: Uid,
        id: &ConversationId,
    ) -> Result<Option<UserConversation>, StoreError> {
        let key = key::of_user_conversation(uid, id);
        let job = move |txn: &_| USER_CONVERSATIONS.get(&USER_CONVERSATIONS.read(txn)?, &key);
        self.read("read a user's registers", || format!("user_conversations {uid} {id}"), job).await
    }

    async fn user_conversations(
        &self,
        uid: Uid,
        after: Option<&ConversationId>,
        limit: usize,
    ) -> Result<Vec<UserConversationEntry>, StoreError> {
        let first = after.map_or_else(|| key::of_user(uid), |after| key::of_user_conversation(uid, after));
        let job = move |txn: &_| {
            let table = USER_CONVERSATIONS.read(txn)?;
            let mut page = Vec::new();
            for row in table.range((Bound::Excluded(first.as_slice()), Bound::Unbounded))?.take(limit) {
                let (key, value) = row?;
                if key::first_number(&key) != Some(uid.get()) {
                    break;
                }
                page.push(UserConversationEntry {
                    conversation_id: USER_CONVERSATIONS.part(&key, key::conversation_after_number)?,
                    registers: USER_CONVERSATIONS.decode(&key, &value)?,
                });
            }
            Ok(page)
        };
        self.read("read a user's conversations", || format!("user_conversations {uid}"), job).await
    }

    async fn raise(&self, uid: Uid, id: &ConversationId, raises: &[Raise]) -> Result<(), StoreError> {
        if raises.is_empty() {
            return Ok(());
        }
        let (user_key, member_key) =
            (key::of_user_conversation(uid, id), key::in_conversation(id, uid.get()));
        let raises = raises.to_vec();
        let is_copied = raises.iter().any(Raise::is_copied_to_member);
        let job = move |txn: &_| {
            let mut users = USER_CONVERSATIONS.write(txn)?;
            USER_CONVERSATIONS.merge(&mut users, &user_key, |row: &mut UserConversation| {
                raises.iter().for_each(|raise| row.apply(raise));
            })?;
            if is_copied {
                let mut members = MEMBERS.write(txn)?;
                MEMBERS.merge(&mut members, &member_key, |row| apply_raises_to_member(row, &raises))?;
            }
            Ok(())
        };
        self.write("raise registers", || format!("user_conversations {uid} {id}"), job).await
    }

    async fn user_switches(&self, uid: Uid) -> Result<UserSwitches, StoreError> {
        let key = key::of_user(uid);
        let job = move |txn: &_| Ok(USER_SETTINGS.get(&USER_SETTINGS.read(txn)?, &key)?.unwrap_or_default());
        self.read("read a user's switches", || format!("user_settings {uid}"), job).await
    }

    async fn add_user_switch(&self, uid: Uid, switch: Switch<bool>) -> Result<(), StoreError> {
        let key = key::of_user(uid);
        let job = move |txn: &_| {
            USER_SETTINGS.merge(&mut USER_SETTINGS.write(txn)?, &key, |row: &mut UserSwitches| {
                row.add(switch);
            })
        };
        self.write("add a user's switch", || format!("user_settings {uid}"), job).await
    }
}
