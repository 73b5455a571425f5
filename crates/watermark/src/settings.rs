//! A user's switch of receipts: written to the user first, then copied to its member rows, then recounted.

use crate::tools::Tools;
use readmark_domain::id::{ConversationId, Uid};
use readmark_domain::register::{Switch, UserSwitches};
use readmark_runtime::recount::recounts_above;
use readmark_runtime::role::RoleError;
use readmark_store::UserConversationEntry;

/// Conversations read in one page.
const CONVERSATIONS_PER_PAGE: usize = 256;

/// Applies switches of one user to everything it is a member of.
///
/// A join writes its row first and reads the user's switches afterwards; here it is the other way round, so
/// one of the two always sees the other.
pub(crate) async fn apply_switches(
    tools: &Tools,
    uid: Uid,
    switches: &[Switch<bool>],
) -> Result<(), RoleError> {
    let (store, retrier) = (&*tools.ports.store, &tools.retrier);
    let mut all = retrier.run(|| store.user_switches(uid)).await?;
    let since_before = all.since(true);
    let mut again = false;
    for switch in switches {
        again |= !all.add(*switch);
        retrier.run(|| store.add_user_switch(uid, *switch)).await?;
    }
    let all = retrier.run(|| store.user_switches(uid)).await?;
    let changed = since_before != all.since(true);
    let mut after: Option<ConversationId> = None;
    loop {
        let page =
            retrier.run(|| store.user_conversations(uid, after.as_ref(), CONVERSATIONS_PER_PAGE)).await?;
        for entry in &page {
            copy_to(tools, uid, entry, &all, changed || again).await?;
        }
        match page.last() {
            Some(last) if page.len() == CONVERSATIONS_PER_PAGE => after = Some(last.conversation_id.clone()),
            _ => return Ok(()),
        }
    }
}

/// Copies to one member row. A recount follows when these switches changed since when the user counts (also
/// where a join, cut off before its own recount, was faster to copy them), or when one was stored already: then
/// this is a repetition after a crash that may have cut the recount off.
async fn copy_to(
    tools: &Tools,
    uid: Uid,
    entry: &UserConversationEntry,
    all: &UserSwitches,
    recount: bool,
) -> Result<(), RoleError> {
    let (store, retrier) = (&*tools.ports.store, &tools.retrier);
    let id = &entry.conversation_id;
    let uids = [uid];
    let rows = retrier.run(|| store.members_of(id, &uids)).await?;
    let known = rows.into_iter().next().flatten().unwrap_or_default();
    if !known.switches.contains_all(all) {
        retrier.run(|| store.copy_switches(id, uid, all)).await?;
    }
    if !recount && known.switches.since(true) == all.since(true) {
        return Ok(());
    }
    let records = recounts_above(&tools.ports, retrier, id, entry.registers.joined).await?;
    if !records.is_empty() {
        retrier.run(|| tools.ports.log.append(records.clone())).await?;
    }
    Ok(())
}
