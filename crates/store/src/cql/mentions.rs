//! Tables `mentions` and `mentions_of_all`.

use super::CqlStore;
use super::error::{At, Key};
use super::message_store::limit;
use super::request::{Write, all};
use super::value::{int, seq};
use crate::error::StoreError;
use readmark_domain::id::{ConversationId, Seq, Uid};
use std::collections::BTreeSet;

pub(super) async fn add(
    store: &CqlStore,
    id: &ConversationId,
    seq: Seq,
    uids: &[Uid],
) -> Result<(), StoreError> {
    let uids: BTreeSet<Uid> = uids.iter().copied().collect();
    let adds = uids.into_iter().map(|uid| {
        let add = Write::new(&store.statements.add_mention, (int(uid.get()), id.as_str(), int(seq.get())));
        store.write(At::new("add mentions", "mentions", Key::UserConversation(uid, id)), vec![add])
    });
    all(adds).await.map(drop)
}

pub(super) async fn add_of_all(store: &CqlStore, id: &ConversationId, seq: Seq) -> Result<(), StoreError> {
    let add = Write::new(&store.statements.add_mention_of_all, (id.as_str(), int(seq.get())));
    store.write(At::new("add a mention of all", "mentions_of_all", Key::Conversation(id)), vec![add]).await
}

/// Seqs of `first ..= last` that mention `uid` or everybody, ascending, at most `most`.
pub(super) async fn read(
    store: &CqlStore,
    uid: Uid,
    id: &ConversationId,
    first: Seq,
    last: Seq,
    most: usize,
) -> Result<Vec<Seq>, StoreError> {
    if first > last || most == 0 {
        return Ok(Vec::new());
    }
    let at = At::new("read mentions", "mentions", Key::UserConversation(uid, id));
    let at_all = At::new("read mentions", "mentions_of_all", Key::Conversation(id));
    let (from, to) = (int(first.get()), int(last.get()));
    let values = (int(uid.get()), id.as_str(), from, to, limit(most));
    let values_of_all = (id.as_str(), from, to, limit(most));
    // The smallest of each list: the smallest of both are among them.
    let (own, everybodys) = futures::try_join!(
        store.rows::<(i64,)>(at, &store.statements.read_mentions, values, most),
        store.rows::<(i64,)>(at_all, &store.statements.read_mentions_of_all, values_of_all, most),
    )?;
    let seqs = own.into_iter().chain(everybodys).map(|(cell,)| seq(Some(cell)));
    let seqs: BTreeSet<Seq> = seqs.collect::<Result<_, _>>().map_err(|fault| at.corrupt(fault))?;
    Ok(seqs.into_iter().take(most).collect())
}
