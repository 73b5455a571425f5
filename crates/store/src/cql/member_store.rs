use super::CqlStore;
use super::error::{At, Key};
use super::request::{Write, all};
use super::value::{Fault, SwitchCell, int, presence, seq, switch_cells, switches, uid};
use crate::error::StoreError;
use crate::port::MemberStore;
use crate::row::MemberChange;
use async_trait::async_trait;
use readmark_domain::counting::Member;
use readmark_domain::id::{ConversationId, Uid};
use readmark_domain::register::UserSwitches;
use scylla::statement::prepared::PreparedStatement;
use std::collections::BTreeMap;

/// Uids asked for in one read: ScyllaDB takes at most 100 values of a clustering column.
const UIDS_OF_READ_MAX: usize = 100;
/// Bytes of a switch in a set.
const SWITCH_BYTES: usize = 36;

type Row = (i64, Option<i64>, Option<i64>, Option<i64>, Option<i64>, Option<Vec<SwitchCell>>);

fn member((row_uid, present, joined, claimed, imported, switched): Row) -> Result<Member, Fault> {
    Ok(Member {
        uid: uid(row_uid)?,
        presence: presence(present)?,
        joined: seq(joined)?,
        switches: switches(switched)?,
        claimed: seq(claimed)?,
        imported: seq(imported)?,
    })
}

const fn at<'a>(operation: &'static str, id: &'a ConversationId) -> At<'a> {
    At::new(operation, "members", Key::Conversation(id))
}

#[async_trait]
impl MemberStore for CqlStore {
    async fn members(&self, id: &ConversationId) -> Result<Vec<Member>, StoreError> {
        let at = at("read members", id);
        let rows = self.rows(at, &self.statements.read_members, (id.as_str(),), usize::MAX).await?;
        rows.into_iter().map(member).collect::<Result<_, _>>().map_err(|fault| at.corrupt(fault))
    }

    async fn members_of(&self, id: &ConversationId, uids: &[Uid]) -> Result<Vec<Option<Member>>, StoreError> {
        let at = at("read members", id);
        let cells: Vec<i64> = uids.iter().map(|uid| int(uid.get())).collect();
        let reads: Vec<_> = cells
            .chunks(UIDS_OF_READ_MAX)
            .map(|uids| {
                let values = (id.as_str(), uids.to_vec());
                self.rows::<Row>(at, &self.statements.read_members_of, values, usize::MAX)
            })
            .collect();
        let mut found = BTreeMap::new();
        for row in all(reads).await?.into_iter().flatten() {
            let member = member(row).map_err(|fault| at.corrupt(fault))?;
            found.insert(member.uid, member);
        }
        Ok(uids.iter().map(|uid| found.get(uid).cloned()).collect())
    }

    async fn change_members(&self, id: &ConversationId, changes: &[MemberChange]) -> Result<(), StoreError> {
        let statements = &self.statements;
        let here: Vec<_> = changes
            .iter()
            .flat_map(|change| {
                writes(change, &statements.raise_member_presence, &statements.raise_member_joined, |key| {
                    (key, key, id.as_str(), int(change.uid.get()))
                })
            })
            .collect();
        let of_users: Vec<_> = changes
            .iter()
            .map(|change| {
                let writes = writes(change, &statements.raise_presence, &statements.raise_joined, |key| {
                    (key, key, int(change.uid.get()), id.as_str())
                });
                let key = Key::UserConversation(change.uid, id);
                self.write(At::new("change members", "user_conversations", key), writes)
            })
            .collect();
        futures::try_join!(self.write(at("change members", id), here), all(of_users)).map(drop)
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
        let cells = switch_cells(switches);
        let bytes = cells.len() * SWITCH_BYTES;
        let values = (cells, id.as_str(), int(uid.get()));
        let add = Write::of_bytes(&self.statements.add_member_switches, values, bytes);
        self.write(at("copy switches", id), vec![add]).await
    }
}

/// The registers of a change: each number is its own timestamp.
fn writes<'s, V>(
    change: &MemberChange,
    of_presence: &'s PreparedStatement,
    of_joined: &'s PreparedStatement,
    values: impl Fn(i64) -> V,
) -> Vec<Write<'s, V>> {
    let mut writes = vec![Write::new(of_presence, values(int(change.presence.key().get())))];
    writes.extend(change.joined.map(|joined| Write::new(of_joined, values(int(joined.get())))));
    writes
}
