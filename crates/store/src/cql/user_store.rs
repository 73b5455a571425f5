use super::CqlStore;
use super::error::{At, Key};
use super::request::Write;
use super::value::{
    Cell, SwitchCell, UserConversationCells, int, latest_key, read_mark_bytes, switch_cell, switches,
    user_conversation,
};
use crate::cql::message_store::limit;
use crate::error::StoreError;
use crate::port::UserStore;
use crate::row::{Raise, UserConversation, UserConversationEntry};
use async_trait::async_trait;
use readmark_domain::id::{ConversationId, Uid};
use readmark_domain::register::{ReadMark, Switch, UserSwitches};
use scylla::statement::prepared::PreparedStatement;

#[async_trait]
impl UserStore for CqlStore {
    async fn user_conversation(
        &self,
        uid: Uid,
        id: &ConversationId,
    ) -> Result<Option<UserConversation>, StoreError> {
        let key = Key::UserConversation(uid, id);
        let at = At::new("read a user's registers", "user_conversations", key);
        let values = (int(uid.get()), id.as_str());
        let rows: Vec<UserConversationCells> =
            self.rows(at, &self.statements.read_user_conversation, values, 1).await?;
        rows.first().map(user_conversation).transpose().map_err(|fault| at.corrupt(fault))
    }

    async fn user_conversations(
        &self,
        uid: Uid,
        after: Option<&ConversationId>,
        most: usize,
    ) -> Result<Vec<UserConversationEntry>, StoreError> {
        if most == 0 {
            return Ok(Vec::new());
        }
        let at = At::new("read a user's conversations", "user_conversations", Key::User(uid));
        // Every id is after the empty text.
        let values = (int(uid.get()), after.map_or("", |after| after.as_str()), limit(most));
        let rows: Vec<UserConversationCells> =
            self.rows(at, &self.statements.read_user_conversations, values, most).await?;
        let entries = rows.iter().map(|row| {
            Ok(UserConversationEntry {
                conversation_id: ConversationId::new(&row.0)
                    .map_err(|_| "a conversation_id is out of range")?,
                registers: user_conversation(row)?,
            })
        });
        entries.collect::<Result<_, _>>().map_err(|fault: super::value::Fault| at.corrupt(fault))
    }

    async fn raise(&self, uid: Uid, id: &ConversationId, raises: &[Raise]) -> Result<(), StoreError> {
        let of_user = raises.iter().map(|raise| {
            let (statement, timestamp, cell) = self.register(raise);
            Write::new(statement, (timestamp, cell, int(uid.get()), id.as_str()))
        });
        let of_member = raises.iter().filter_map(|raise| {
            let (statement, to) = match raise {
                Raise::Claimed(to) => (&self.statements.raise_member_claimed, to),
                Raise::Imported(to) => (&self.statements.raise_member_imported, to),
                Raise::Read { .. }
                | Raise::Cleared(_)
                | Raise::Own(_)
                | Raise::Receipted(_)
                | Raise::Muted(_)
                | Raise::MarkedUnread(_) => return None,
            };
            let to = int(to.get());
            Some(Write::new(statement, (to, to, id.as_str(), int(uid.get()))))
        });
        let at_user = At::new("raise registers", "user_conversations", Key::UserConversation(uid, id));
        let at_member = At::new("raise registers", "members", Key::Conversation(id));
        futures::try_join!(
            self.write(at_user, of_user.collect()),
            self.write(at_member, of_member.collect()),
        )
        .map(drop)
    }

    async fn user_switches(&self, uid: Uid) -> Result<UserSwitches, StoreError> {
        let at = At::new("read a user's switches", "user_settings", Key::User(uid));
        let rows: Vec<(Option<Vec<SwitchCell>>,)> =
            self.rows(at, &self.statements.read_user_settings, (int(uid.get()),), 1).await?;
        let cell = rows.into_iter().next().and_then(|(cell,)| cell);
        switches(cell).map_err(|fault| at.corrupt(fault))
    }

    async fn add_user_switch(&self, uid: Uid, switch: Switch<bool>) -> Result<(), StoreError> {
        let values = (vec![switch_cell(&switch)], int(uid.get()));
        let add = Write::new(&self.statements.add_user_switch, values);
        self.write(At::new("add a user's switch", "user_settings", Key::User(uid)), vec![add]).await
    }
}

impl CqlStore {
    /// The statement of a register, its write timestamp and its value.
    fn register(&self, raise: &Raise) -> (&PreparedStatement, i64, Cell) {
        let to_number = |statement, key: i64| (statement, key, Cell::Number(key));
        let statements = &self.statements;
        match raise {
            Raise::Read { seq, read_at, endpoint } => {
                let mark = ReadMark { seq: *seq, read_at: *read_at, endpoint: endpoint.clone() };
                (&statements.raise_read, int(seq.get()), Cell::Bytes(read_mark_bytes(&mark)))
            }
            Raise::Cleared(to) => to_number(&statements.raise_cleared, int(to.get())),
            Raise::Own(to) => to_number(&statements.raise_own, int(to.get())),
            Raise::Claimed(to) => to_number(&statements.raise_claimed, int(to.get())),
            Raise::Receipted(to) => to_number(&statements.raise_receipted, int(to.get())),
            Raise::Imported(to) => to_number(&statements.raise_imported, int(to.get())),
            Raise::Muted(latest) => to_number(&statements.raise_muted, latest_key(*latest)),
            Raise::MarkedUnread(latest) => to_number(&statements.raise_marked_unread, latest_key(*latest)),
        }
    }
}
