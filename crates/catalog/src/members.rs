//! Joins and leaves.

use crate::fact::MemberFact;
use crate::step::{Outcome, StepError};
use crate::tools::Tools;
use readmark_domain::counting::Member;
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::register::Presence;
use readmark_events::ConversationChanged;
use readmark_log::NewRecord;
use readmark_runtime::at_once::{self, Call};
use readmark_store::{MemberChange, StoreError};
use std::collections::BTreeSet;

/// Users whose switches are copied at once.
const COPIES_AT_ONCE: usize = 16;

/// Writes joins and leaves, copies the switches of those who joined, and tells the rows as read back.
pub(crate) async fn apply_members(
    tools: &Tools,
    facts: &[MemberFact],
    outcome: &mut Outcome,
) -> Result<(), StepError> {
    let (store, retrier) = (&*tools.ports.store, &tools.retrier);
    let id = outcome.conversation_id.clone();
    let uids: Vec<Uid> = facts.iter().map(|fact| fact.uid).collect::<BTreeSet<_>>().into_iter().collect();
    let before = retrier.run(|| store.members_of(&id, &uids)).await?;
    let changes: Vec<MemberChange> = facts.iter().map(MemberFact::as_change).collect();
    retrier.run(|| store.change_members(&id, &changes)).await?;
    copy_switches(tools, &id, facts).await?;
    tools.sizes.after_change(&id, changes.len() as u64).await?;
    let after = retrier.run(|| store.members_of(&id, &uids)).await?;
    for ((uid, before), after) in uids.iter().zip(before).zip(after) {
        let before = before.unwrap_or_default();
        let after = after.unwrap_or_default();
        let own: Vec<&MemberFact> = facts.iter().filter(|fact| fact.uid == *uid).collect();
        count_stale(tools, &own, &before);
        if let Some(above) = recount_above(&own, &before, &after) {
            outcome.ask_recount(above);
        }
        if let Some(presence) = after.presence {
            let changed = ConversationChanged::Roster {
                conversation_id: id.clone(),
                uid: *uid,
                presence,
                joined_seq: after.joined,
            };
            outcome.records.push(NewRecord::of(&changed)?);
        }
    }
    Ok(())
}

impl MemberFact {
    fn presence(&self) -> Presence {
        Presence::new(self.order, self.joined.is_some())
    }

    fn as_change(&self) -> MemberChange {
        MemberChange { uid: self.uid, presence: self.presence(), joined: self.joined }
    }
}

/// The member row is written first and the user's switches are read afterwards; a switch is written to the
/// user first and its conversations are read afterwards. So one of the two always sees the other.
async fn copy_switches(tools: &Tools, id: &ConversationId, facts: &[MemberFact]) -> Result<(), StoreError> {
    let joined: BTreeSet<Uid> = facts.iter().filter(|f| f.joined.is_some()).map(|f| f.uid).collect();
    let mut copies: Vec<Call<'_, (), StoreError>> = Vec::new();
    for uid in joined {
        copies.push(Box::pin(copy_switches_of(tools, id, uid)));
    }
    at_once::all(COPIES_AT_ONCE, copies).await.map(drop)
}

async fn copy_switches_of(tools: &Tools, id: &ConversationId, uid: Uid) -> Result<(), StoreError> {
    let store = &*tools.ports.store;
    let switches = tools.retrier.run(|| store.user_switches(uid)).await?;
    if !switches.is_empty() {
        tools.retrier.run(|| store.copy_switches(id, uid, &switches)).await?;
    }
    Ok(())
}

/// From where on senders must be told again after these facts about one user, if at all.
///
/// A fact that is stored already is a repetition: a crash may have cut its recount off, and what was before
/// is not known any more, so all are told.
fn recount_above(facts: &[&MemberFact], before: &Member, after: &Member) -> Option<Seq> {
    if facts.iter().any(|fact| is_stored(fact, before)) {
        return Some(Seq::ZERO);
    }
    let same_since = before.switches.since(true) == after.switches.since(true);
    match (before.is_present(), after.is_present()) {
        (true, true) if before.joined == after.joined && same_since => None,
        (true, _) => Some(before.joined),
        (false, true) => Some(after.joined),
        (false, false) => None,
    }
}

/// Is one of the registers what this fact says? A join that is stale as a presence may still be the one that
/// raised `joined`.
fn is_stored(fact: &MemberFact, before: &Member) -> bool {
    let presence = Some(fact.presence());
    let raised_joined = fact.joined.is_some_and(|joined| joined > Seq::ZERO && joined == before.joined);
    before.presence == presence || (before.presence > presence && raised_joined)
}

/// A fact that loses against one of greater order known before it.
fn count_stale(tools: &Tools, facts: &[&MemberFact], before: &Member) {
    let mut known = before.presence;
    for fact in facts {
        if known.is_some_and(|presence| presence > fact.presence()) {
            let kind = if fact.joined.is_some() { "member_joined" } else { "member_left" };
            tools.shared.stale_facts_total.with_label_values(&[kind]).inc();
        }
        known = known.max(Some(fact.presence()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmark_domain::time::Order;

    fn seq(n: u64) -> Seq {
        Seq::new_or_zero(n).unwrap()
    }

    fn fact(order: u64, joined: Option<u64>) -> MemberFact {
        MemberFact { uid: Uid::new(1).unwrap(), order: Order::new(order).unwrap(), joined: joined.map(seq) }
    }

    fn member(order: u64, present: bool, joined: u64) -> Member {
        let presence = Some(Presence::new(Order::new(order).unwrap(), present));
        Member { presence, joined: seq(joined), ..Member::default() }
    }

    #[test]
    fn a_recount_starts_where_the_tally_can_have_changed() {
        let none = Member::default();
        let join = fact(10, Some(7));
        assert_eq!(recount_above(&[&join], &none, &member(10, true, 7)), Some(seq(7)), "a first join");
        let leave = fact(20, None);
        let left = member(20, false, 7);
        assert_eq!(recount_above(&[&leave], &member(10, true, 7), &left), Some(seq(7)), "a leave");
        assert_eq!(recount_above(&[&leave], &left, &left), Some(Seq::ZERO), "a leave again");
        let again = fact(30, Some(9));
        assert_eq!(recount_above(&[&again], &left, &member(30, true, 9)), Some(seq(9)), "a rejoin");
        let later = fact(31, Some(9));
        assert_eq!(
            recount_above(&[&later], &member(30, true, 9), &member(31, true, 9)),
            None,
            "a resync that changes nothing"
        );
        let old_join = fact(12, Some(9));
        assert_eq!(
            recount_above(&[&old_join], &member(30, true, 7), &member(30, true, 9)),
            Some(seq(7)),
            "a stale join that raises joined"
        );
        assert_eq!(
            recount_above(&[&old_join], &member(30, true, 9), &member(30, true, 9)),
            Some(Seq::ZERO),
            "the same again, after a crash perhaps"
        );
        let stale = fact(5, None);
        assert_eq!(
            recount_above(&[&stale], &member(30, true, 9), &member(30, true, 9)),
            None,
            "a stale leave"
        );
    }
}
