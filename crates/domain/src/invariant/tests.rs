//! Every predicate holds where it should and fails where it should.

use super::*;
use crate::counting::{Tally, TallyVersion};
use crate::id::{Seq, Uid};
use crate::register::ReceiptsMode;
use std::collections::BTreeSet;

fn uids(numbers: &[u64]) -> Vec<Uid> {
    numbers.iter().map(|n| Uid::new(*n).unwrap()).collect()
}

fn seq(n: u64) -> Seq {
    Seq::new_or_zero(n).unwrap()
}

fn version(stamp: u32, read: u32) -> TallyVersion {
    format!("{stamp:024x}{read:08x}").parse().unwrap()
}

fn tally(read: u32, total: u32, stamp: u32) -> Tally {
    Tally { read, total, version: version(stamp, read), mode: ReceiptsMode::Full }
}

/// The id of the invariant that is broken, if any.
fn broken(checked: Checked) -> Option<&'static str> {
    checked.err().map(|violation| violation.invariant.id)
}

#[test]
fn the_registry_numbers_every_invariant_once() {
    let ids: Vec<String> = ALL.iter().map(|invariant| invariant.id.to_owned()).collect();
    let wanted: Vec<String> = (1..=10).map(|n| format!("RR-{n}")).collect();
    assert_eq!(ids, wanted);
    let sentences: BTreeSet<&str> = ALL.iter().map(|invariant| invariant.sentence).collect();
    assert_eq!(sentences.len(), ALL.len());
    assert_eq!(by_id("RR-4"), Some(ALL[3]));
    assert_eq!(by_id("RR-11"), None);
}

#[test]
fn rr_1() {
    let array = uids(&[1, 2]).into_iter().collect();
    let check =
        |delivered: &[u64]| broken(CountedOnce { delivered: &uids(delivered), array: &array }.check());
    assert_eq!(check(&[2, 1, 2]), None);
    assert_eq!(check(&[1]), Some("RR-1"), "somebody invented");
    assert_eq!(check(&[1, 2, 3]), Some("RR-1"), "somebody lost");
}

#[test]
fn rr_2() {
    let fine = NothingLost {
        seq: seq(1),
        reader: uids(&[2])[0],
        stored: true,
        dead: false,
        excuse: None,
        to_be_told: true,
        told: true,
    };
    assert_eq!(broken(fine.check()), None);
    assert_eq!(broken(NothingLost { stored: false, dead: true, ..fine }.check()), None);
    let excused = NothingLost { stored: false, excuse: Some(Excuse::Expired), ..fine };
    assert_eq!(broken(excused.check()), None);
    assert_eq!(broken(NothingLost { stored: false, ..fine }.check()), Some("RR-2"));
    assert_eq!(broken(NothingLost { told: false, ..fine }.check()), Some("RR-2"));
}

#[test]
fn rr_3() {
    let check = |before, after| broken(NeverFalls { before: seq(before), after: seq(after) }.check());
    assert_eq!((check(0, 0), check(3, 4), check(4, 3)), (None, None, Some("RR-3")));
}

#[test]
fn rr_4() {
    assert_eq!(broken(TallyBounds { read: 2, total: 1 }.check()), Some("RR-4"));
    let check = |tally: Tally, readers: &[u64], non_readers: &[u64]| {
        let (readers, non_readers) = (uids(readers), uids(non_readers));
        broken(TallyLists { tally: &tally, readers: &readers, non_readers: &non_readers }.check())
    };
    assert_eq!(check(tally(1, 2, 0), &[1], &[2]), None);
    assert_eq!(check(tally(0, 0, 0), &[], &[]), None);
    assert_eq!(check(tally(1, 2, 0), &[1], &[1]), Some("RR-4"), "in both");
    assert_eq!(check(tally(1, 3, 0), &[1], &[2]), Some("RR-4"), "somebody in neither");
    assert_eq!(check(tally(2, 2, 0), &[1, 1], &[]), Some("RR-4"), "named twice");
}

#[test]
fn rr_5() {
    let uncounted = [seq(2), seq(5), seq(9)];
    let check = |head, floor, unread| {
        broken(UnreadSum { head: seq(head), floor: seq(floor), uncounted: &uncounted, unread }.check())
    };
    assert_eq!((check(8, 3, 4), check(8, 8, 0), check(3, 8, 0)), (None, None, None));
    assert_eq!((check(8, 3, 5), check(3, 8, 5)), (Some("RR-5"), Some("RR-5")));
    let total = |parts: &[u64], total| broken(UnreadTotal { parts, total }.check());
    assert_eq!((total(&[3, 2], 5), total(&[], 0), total(&[3, 2], 4)), (None, None, Some("RR-5")));
}

#[test]
fn rr_6() {
    let check = |after: u8, entries_appended| {
        broken(Redelivery { before: &1, after: &after, entries_appended }.check())
    };
    assert_eq!((check(1, 0), check(2, 0), check(1, 1)), (None, Some("RR-6"), Some("RR-6")));
}

#[test]
fn rr_7() {
    let check = |position, lowest_pending| {
        broken(OffsetAfterDurable { position, lowest_pending, taken_to: 9 }.check())
    };
    assert_eq!((check(9, None), check(4, Some(4)), check(3, Some(4))), (None, None, None));
    assert_eq!((check(10, None), check(5, Some(4))), (Some("RR-7"), Some("RR-7")));
}

#[test]
fn rr_8() {
    let check = |before: Tally, after: Tally| broken(VersionRises { before: &before, after: &after }.check());
    assert_eq!(check(tally(1, 3, 5), tally(2, 3, 5)), None);
    assert_eq!(check(tally(2, 3, 5), tally(1, 2, 6)), None);
    assert_eq!(check(tally(2, 3, 5), tally(2, 3, 5)), None);
    assert_eq!(check(tally(2, 3, 5), tally(2, 4, 5)), Some("RR-8"), "other content, same version");
    assert_eq!(check(tally(2, 3, 5), tally(2, 3, 4)), Some("RR-8"), "fell");
    let take = |known: Option<u32>, offered, taken| {
        let known = known.map(|stamp| version(stamp, 0));
        broken(LowerIsIgnored { known, offered: version(offered, 0), taken }.check())
    };
    assert_eq!((take(None, 1, true), take(Some(1), 2, true), take(Some(2), 2, false)), (None, None, None));
    assert_eq!((take(Some(2), 1, true), take(Some(1), 2, false)), (Some("RR-8"), Some("RR-8")));
}

#[test]
fn rr_9() {
    let check = |same_epoch, since, served| {
        broken(SyncWithoutGaps { same_epoch, since, oldest_kept: 5, served }.check())
    };
    assert_eq!(check(true, 4, Served::Entries(&[5, 6])), None);
    assert_eq!(check(true, 9, Served::Entries(&[])), None);
    assert_eq!(check(false, 9, Served::Snapshot), None);
    assert_eq!(check(true, 4, Served::Entries(&[5, 7])), Some("RR-9"), "a gap");
    assert_eq!(check(true, 6, Served::Entries(&[6])), Some("RR-9"), "twice");
    assert_eq!(check(true, 3, Served::Entries(&[5])), Some("RR-9"), "too far behind");
    assert_eq!(check(false, 4, Served::Entries(&[5])), Some("RR-9"), "another epoch");
}

#[test]
fn rr_10() {
    let check = |complete, shown| broken(MissingIsUnknown { complete, shown }.check());
    let all = |read, total| Shown::Tally { read, total, all_read: true };
    assert_eq!(check(false, Shown::NotKnown), None);
    assert_eq!(check(true, all(2, 2)), None);
    assert_eq!(check(true, Shown::Unread(0)), None);
    assert_eq!(check(false, Shown::Unread(0)), Some("RR-10"));
    assert_eq!(check(false, all(2, 2)), Some("RR-10"));
    assert_eq!(check(true, all(0, 0)), Some("RR-10"), "nobody has read it");
    assert_eq!(check(true, all(1, 2)), Some("RR-10"));
}
