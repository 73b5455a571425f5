//! Runs a case and says what is wrong with it.

use crate::case::{Case, Fact};
use crate::model::{Effects, Rule, State};
use crate::oracle;
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::invariant::{
    CountedOnce, MissingIsUnknown, NeverFalls, Redelivery, Served, Shown, SyncWithoutGaps, TallyLists,
    UnreadSum, UnreadTotal, VersionRises, Violation,
};
use std::collections::BTreeMap;

/// Every receipt that was stored, as often as it was.
type Journal = BTreeMap<(ConversationId, Seq), Vec<Uid>>;

/// Both deliveries, step by step, end in the same answers, and those are the oracle's.
pub fn run(case: &Case, left_out: Option<Rule>) -> Result<(), String> {
    let straight = deliver(&case.facts, left_out)?;
    let shuffled = deliver(&case.delivered, left_out)?;
    let (one, other) = (straight.answers(), shuffled.answers());
    if one != other {
        return Err(format!("the two deliveries differ:\n{one:#?}\n{other:#?}"));
    }
    oracle::check(&case.facts, &shuffled)?;
    let mut again = shuffled.clone();
    let entries_appended = case.facts.iter().map(|fact| again.apply(fact).appended.len() as u64).sum();
    Redelivery { before: &shuffled, after: &again, entries_appended }.check().map_err(|v| v.to_string())
}

fn deliver(facts: &[Fact], left_out: Option<Rule>) -> Result<State, String> {
    let mut state = State::new(left_out);
    let mut journal = Journal::new();
    for (nth, fact) in facts.iter().enumerate() {
        let before = state.clone();
        let effects = state.apply(fact);
        for stored in &effects.stored {
            let key = (stored.conversation_id.clone(), stored.seq);
            journal.entry(key).or_default().push(stored.reader);
        }
        step(&before, &state, &effects, &journal)
            .and_then(|()| again(&state, fact))
            .map_err(|violation| format!("after fact {nth}, {fact:?}: {violation}"))?;
    }
    Ok(state)
}

/// The same fact once more changes nothing.
fn again(state: &State, fact: &Fact) -> Result<(), Violation> {
    let mut after = state.clone();
    let entries_appended = after.apply(fact).appended.len() as u64;
    Redelivery { before: state, after: &after, entries_appended }.check()
}

fn step(before: &State, after: &State, effects: &Effects, journal: &Journal) -> Result<(), Violation> {
    for (id, conversation) in &after.conversations {
        for (seq, sent) in &conversation.seqs {
            let delivered = journal.get(&(id.clone(), *seq)).map(Vec::as_slice).unwrap_or_default();
            CountedOnce { delivered, array: &sent.readers }.check()?;
        }
    }
    registers(before, after)?;
    tallies(before, after)?;
    unread(after)?;
    for (user, version) in &effects.appended {
        let since = before.streams.get(user).map_or(0, |(version, _)| *version);
        let served = Served::Entries(&[*version]);
        SyncWithoutGaps { same_epoch: true, since, oldest_kept: since + 1, served }.check()?;
    }
    Ok(())
}

fn registers(before: &State, after: &State) -> Result<(), Violation> {
    for (id, old) in &before.conversations {
        let new = &after.conversations[id];
        let fell = |before, after| NeverFalls { before, after }.check();
        fell(old.head, new.head)?;
        for (user, old_row) in &old.users {
            let new_row = &new.users[user];
            fell(old_row.read.seq, new_row.read.seq)?;
            fell(old_row.cleared, new_row.cleared)?;
            fell(old_row.own, new_row.own)?;
            fell(old_row.receipted, new_row.receipted)?;
            fell(old.floor_of(*user), new.floor_of(*user))?;
        }
        for (user, old_row) in &old.members {
            let new_row = &new.members[user];
            fell(old_row.joined, new_row.joined)?;
            fell(old_row.claimed, new_row.claimed)?;
            fell(old_row.imported, new_row.imported)?;
        }
    }
    Ok(())
}

fn tallies(before: &State, after: &State) -> Result<(), Violation> {
    for (id, conversation) in &after.conversations {
        let old = before.conversations.get(id).map(|old| old.receipts()).unwrap_or_default();
        for (seq, new) in conversation.receipts() {
            let tally = &new.tally;
            TallyLists { tally, readers: &new.readers, non_readers: &new.non_readers }.check()?;
            let all_read = tally.all_read();
            let shown = Shown::Tally { read: tally.read, total: tally.total, all_read };
            MissingIsUnknown { complete: true, shown }.check()?;
            if let Some(old) = old.get(&seq) {
                VersionRises { before: &old.tally, after: tally }.check()?;
            }
        }
    }
    Ok(())
}

fn unread(state: &State) -> Result<(), Violation> {
    for user in state.known_users() {
        let picture = state.picture(user);
        let counted = picture.conversations.iter().filter(|(_, dots)| dots.counted);
        let mut parts = Vec::new();
        for (id, dots) in counted {
            let uncounted = state.conversations[id].uncounted();
            UnreadSum { head: dots.head, floor: dots.floor, uncounted: &uncounted, unread: dots.unread }
                .check()?;
            parts.push(dots.unread);
        }
        UnreadTotal { parts: &parts, total: picture.total }.check()?;
    }
    Ok(())
}
