use super::CqlStore;
use super::error::{At, Key};
use super::request::Write;
use super::value::{SwitchCell, int, latest, latest_key, seq, switch_cell, switches};
use crate::error::StoreError;
use crate::port::ConversationStore;
use crate::row::Conversation;
use async_trait::async_trait;
use readmark_domain::id::{ConversationId, Seq};
use readmark_domain::register::{Latest, ReceiptsMode, Switch};
use scylla::statement::prepared::PreparedStatement;

type Cells = (Option<i64>, Option<i64>, Option<Vec<SwitchCell>>, Option<i64>, Option<bool>);

const fn at<'a>(operation: &'static str, id: &'a ConversationId) -> At<'a> {
    At::new(operation, "conversations", Key::Conversation(id))
}

/// A register whose value is its timestamp.
fn raise<'s>(
    statement: &'s PreparedStatement,
    key: i64,
    id: &'s ConversationId,
) -> Write<'s, (i64, i64, &'s str)> {
    Write::new(statement, (key, key, id.as_str()))
}

#[async_trait]
impl ConversationStore for CqlStore {
    async fn conversation(&self, id: &ConversationId) -> Result<Option<Conversation>, StoreError> {
        let at = at("read a conversation", id);
        let rows = self.rows::<Cells>(at, &self.statements.read_conversation, (id.as_str(),), 1).await?;
        let conversation = rows.into_iter().next().map(|(head, imported_head, policy, closed, large)| {
            Ok(Conversation {
                head: seq(head)?,
                imported_head: seq(imported_head)?,
                policy: switches(policy)?,
                closed: latest(closed)?,
                large: large.unwrap_or(false),
            })
        });
        conversation.transpose().map_err(|fault: super::value::Fault| at.corrupt(fault))
    }

    async fn raise_head(&self, id: &ConversationId, head: Seq) -> Result<(), StoreError> {
        let raise = raise(&self.statements.raise_head, int(head.get()), id);
        self.write(at("raise the head", id), vec![raise]).await
    }

    async fn raise_imported_head(&self, id: &ConversationId, head: Seq) -> Result<(), StoreError> {
        let head = int(head.get());
        let raises = vec![
            raise(&self.statements.raise_imported_head, head, id),
            raise(&self.statements.raise_head, head, id),
        ];
        self.write(at("raise the imported head", id), raises).await
    }

    async fn add_policy(&self, id: &ConversationId, switch: Switch<ReceiptsMode>) -> Result<(), StoreError> {
        let add = Write::new(&self.statements.add_policy, (vec![switch_cell(&switch)], id.as_str()));
        self.write(at("add a policy", id), vec![add]).await
    }

    async fn set_closed(&self, id: &ConversationId, closed: Latest) -> Result<(), StoreError> {
        let raise = raise(&self.statements.raise_closed, latest_key(closed), id);
        self.write(at("set closed", id), vec![raise]).await
    }

    async fn set_large(&self, id: &ConversationId) -> Result<(), StoreError> {
        let set = Write::new(&self.statements.set_large, (id.as_str(),));
        self.write(at("set large", id), vec![set]).await
    }
}
