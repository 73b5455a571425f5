//! Tables `uncounted` and `uncounted_blocks`.

use super::CqlStore;
use super::error::{At, Key};
use super::message_store::limit;
use super::request::{Write, all};
use super::value::{Fault, int, number, seq};
use crate::error::StoreError;
use readmark_domain::counting::MessageFlags;
use readmark_domain::id::{ConversationId, Seq};
use std::collections::BTreeMap;

/// Seqs of one partition.
const BLOCK_SEQS: u64 = 65_536;

type Row = (i64, Option<bool>, Option<bool>, Option<bool>);

fn flags((row_seq, recalled, skipped, not_countable): Row) -> Result<(Seq, MessageFlags), Fault> {
    let is = |flag: Option<bool>| flag.unwrap_or(false);
    let flags =
        MessageFlags { recalled: is(recalled), skipped: is(skipped), not_countable: is(not_countable) };
    Ok((seq(Some(row_seq))?, flags))
}

pub(super) async fn add(
    store: &CqlStore,
    id: &ConversationId,
    flags: &[(Seq, MessageFlags)],
) -> Result<(), StoreError> {
    let mut blocks: BTreeMap<u64, BTreeMap<Seq, MessageFlags>> = BTreeMap::new();
    for (seq, flags) in flags.iter().filter(|(_, flags)| *flags != MessageFlags::default()) {
        let known = blocks.entry(seq.get() / BLOCK_SEQS).or_default().entry(*seq).or_default();
        *known = known.merge(*flags);
    }
    // Before the flags: a block that is not in the index is never looked at.
    let entries = blocks
        .keys()
        .map(|block| Write::new(&store.statements.add_uncounted_block, (id.as_str(), int(*block))));
    let at = At::new("add flags", "uncounted_blocks", Key::Conversation(id));
    store.write(at, entries.collect()).await?;
    all(blocks.into_iter().map(|(block, flags)| add_to_block(store, id, block, flags))).await.map(drop)
}

async fn add_to_block(
    store: &CqlStore,
    id: &ConversationId,
    block: u64,
    flags: BTreeMap<Seq, MessageFlags>,
) -> Result<(), StoreError> {
    let mut writes = Vec::new();
    for (seq, flags) in flags {
        let all = [
            (flags.recalled, &store.statements.set_recalled),
            (flags.skipped, &store.statements.set_skipped),
            (flags.not_countable, &store.statements.set_not_countable),
        ];
        let set = all.into_iter().filter(|(is_set, _)| *is_set);
        writes.extend(
            set.map(|(_, statement)| Write::new(statement, (id.as_str(), int(block), int(seq.get())))),
        );
    }
    store.write(At::new("add flags", "uncounted", Key::Bucket(id, block)), writes).await
}

/// Flagged seqs of `first ..= last`, ascending, at most `most`.
pub(super) async fn read(
    store: &CqlStore,
    id: &ConversationId,
    first: Seq,
    last: Seq,
    most: usize,
) -> Result<Vec<(Seq, MessageFlags)>, StoreError> {
    let mut found = Vec::new();
    if first > last || most == 0 {
        return Ok(found);
    }
    for block in blocks(store, id, first, last).await? {
        let at = At::new("read flags", "uncounted", Key::Bucket(id, block));
        let left = most - found.len();
        let values = (id.as_str(), int(block), int(first.get()), int(last.get()), limit(left));
        for row in store.rows::<Row>(at, &store.statements.read_uncounted, values, left).await? {
            found.push(flags(row).map_err(|fault| at.corrupt(fault))?);
        }
        if found.len() == most {
            break;
        }
    }
    Ok(found)
}

/// The blocks of a range that may have flags. One alone is read without asking; of a wide range only those that
/// exist, however wide it is.
async fn blocks(
    store: &CqlStore,
    id: &ConversationId,
    first: Seq,
    last: Seq,
) -> Result<Vec<u64>, StoreError> {
    let (first, last) = (first.get() / BLOCK_SEQS, last.get() / BLOCK_SEQS);
    if first == last {
        return Ok(vec![first]);
    }
    let at = At::new("read flags", "uncounted_blocks", Key::Conversation(id));
    let values = (id.as_str(), int(first), int(last));
    let rows = store.rows::<(i64,)>(at, &store.statements.read_uncounted_blocks, values, usize::MAX).await?;
    rows.into_iter()
        .map(|(block,)| number(block))
        .collect::<Result<_, _>>()
        .map_err(|fault| at.corrupt(fault))
}
