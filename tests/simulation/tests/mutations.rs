//! The simulation can fail: each rule of the design, left out at the ports, is noticed.

use readmark_simulation::Mutation;
use readmark_simulation::seeds::run_seeds;

/// Seeds tried for one rule: the rarest is seen about once in four thousand.
const SEEDS: u64 = 10_000;
/// Where the rarest was seen first: most of the time of all these tests would go by until then.
const RAREST_SEEN_AT: u64 = 4_100;
/// Faults after which it is clear.
const ENOUGH: usize = 1;

fn goes_red(mutation: Mutation) {
    goes_red_from(0, mutation);
}

fn goes_red_from(first: u64, mutation: Mutation) {
    let report = run_seeds(first, SEEDS, Some(mutation), ENOUGH);
    let first = report.faults.first().and_then(|(_, violations)| violations.first());
    println!("{mutation:?} left out: {report}; {first:?}");
    assert!(!report.faults.is_empty(), "{mutation:?} left out, and nobody noticed: {report}");
}

#[test]
fn announce_only_what_is_new() {
    goes_red(Mutation::AnnounceOnlyNew);
}

#[test]
fn no_late_message_rule() {
    goes_red(Mutation::NoLateMessageRule);
}

#[test]
fn no_recount() {
    goes_red(Mutation::NoRecount);
}

#[test]
fn recount_only_up_to_the_head() {
    goes_red_from(RAREST_SEEN_AT, Mutation::RecountUpToHead);
}

#[test]
fn drop_by_the_switch_in_force() {
    goes_red(Mutation::DropBySwitchInForce);
}

#[test]
fn store_the_offset_before_the_work() {
    goes_red(Mutation::OffsetBeforeWork);
}

#[test]
fn raise_own_after_the_head() {
    goes_red(Mutation::OwnAfterHead);
}

#[test]
fn write_claimed_after_the_messages_were_looked_at() {
    goes_red(Mutation::ClaimedAfterLook);
}

#[test]
fn use_a_roster_older_than_the_message() {
    goes_red(Mutation::RosterNotReadAgain);
}

#[test]
fn write_receipted_before_the_expansion() {
    goes_red(Mutation::ReceiptedBeforeExpansion);
}

#[test]
fn tell_only_marks_that_rise() {
    goes_red(Mutation::TellOnlyRaisedMarks);
}

#[test]
fn store_the_notifiers_offset_before_anybody_is_told() {
    goes_red(Mutation::NotifierOffsetBeforeTold);
}

#[test]
fn tell_who_joins_of_the_joining_alone() {
    goes_red(Mutation::JoinedNotToldWhole);
}

#[test]
fn tell_members_of_a_second_ago() {
    goes_red(Mutation::MembersNotReadAgain);
}

#[test]
fn tell_senders_as_all_others() {
    goes_red(Mutation::OwnNotTold);
}

#[test]
fn tell_nobody_that_a_conversation_became_large() {
    goes_red(Mutation::LargeNotAnnounced);
}

#[test]
fn count_nothing_afterwards() {
    goes_red(Mutation::NumbersNotCounted);
}

#[test]
fn take_no_facts_during_a_rebuild() {
    goes_red(Mutation::RebuildTakesNoFacts);
}

#[test]
fn keep_the_epoch_of_a_state_that_was_lost() {
    goes_red(Mutation::EpochKept);
}

#[test]
fn miss_no_records_that_retention_took() {
    goes_red(Mutation::LostRecordsNotMissed);
}
