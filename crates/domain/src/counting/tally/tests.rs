use super::{Tally, TallyVersion, lists};
use crate::counting::{Member, Message, MessageFlags, Roster};
use crate::id::{ConversationId, MsgId, Seq, Uid};
use crate::read_array::ReadArray;
use crate::register::{PolicySwitches, Presence, ReceiptsMode, Switch};
use crate::time::{Order, TimeMs};
use proptest::prelude::*;

const RECALLED: MessageFlags = MessageFlags { recalled: true, skipped: false, not_countable: false };
const SKIPPED: MessageFlags = MessageFlags { recalled: false, skipped: true, not_countable: false };
const NONE: MessageFlags = MessageFlags { recalled: false, skipped: false, not_countable: false };

fn uid(n: u64) -> Uid {
    Uid::new(n).unwrap()
}

fn member(n: u64) -> Member {
    Member { uid: uid(n), presence: Some(presence(1, true)), ..Member::default() }
}

fn presence(order: u64, present: bool) -> Presence {
    Presence::new(Order::new(order).unwrap(), present)
}

fn left(n: u64) -> Member {
    Member { presence: Some(presence(2, false)), ..member(n) }
}

fn rejoined(n: u64, at_seq: u64) -> Member {
    Member { presence: Some(presence(3, true)), joined: Seq::new_or_zero(at_seq).unwrap(), ..member(n) }
}

fn switched(n: u64, switches: &[(u64, u64, bool)]) -> Member {
    Member { switches: switches.iter().map(|(o, at, on)| switch(*o, *at, *on)).collect(), ..member(n) }
}

fn switch<V>(order: u64, at: u64, value: V) -> Switch<V> {
    Switch { order: Order::new(order).unwrap(), occurred_at: TimeMs::new(at).unwrap(), value }
}

/// Message `seq` of user 1, sent at `seq × 100`.
fn message(seq: u64) -> Message {
    Message {
        conversation_id: ConversationId::new("c").unwrap(),
        seq: Seq::new(seq).unwrap(),
        msg_id: MsgId::new(900 + seq).unwrap(),
        sender_uid: uid(1),
        sent_at: TimeMs::new(seq * 100).unwrap(),
        countable: true,
        chunks: 1,
    }
}

fn roster(members: &[Member]) -> Roster {
    Roster::new(members, &PolicySwitches::default(), ReceiptsMode::Full)
}

fn readers(uids: &[u64]) -> ReadArray {
    uids.iter().map(|n| uid(*n)).collect()
}

/// The tally and both lists of message `seq` of user 1.
fn answer(roster: &Roster, seq: u64, read_by: &[u64]) -> (u32, u32, Vec<u64>, Vec<u64>) {
    let (message, array) = (message(seq), readers(read_by));
    let tally = Tally::of(roster, &message, NONE, &array);
    let (read, unread) = lists(roster, &message, NONE, &array);
    assert_eq!((tally.read as usize, tally.total as usize), (read.len(), read.len() + unread.len()));
    let numbers = |uids: Vec<Uid>| uids.into_iter().map(Uid::get).collect();
    (tally.read, tally.total, numbers(read), numbers(unread))
}

/// Who counts for message 5 (sent at 500) of user 1, read by those named.
#[test]
fn who_counts() {
    for (name, members, read_by, wanted) in [
        ("D1: b left before", vec![member(1), member(2), left(3)], &[2][..], (1, 1, vec![2], vec![])),
        ("D1: nobody else left", vec![member(1), left(2)], &[2], (0, 0, vec![], vec![])),
        ("D2: a reader left", vec![member(1), left(2), member(3)], &[2], (0, 1, vec![], vec![3])),
        (
            "D3: joined again later",
            vec![member(1), member(2), rejoined(3, 5)],
            &[2, 3],
            (1, 1, vec![2], vec![]),
        ),
        ("joined just before", vec![member(1), rejoined(3, 4)], &[], (0, 1, vec![], vec![3])),
        ("D4: the sender is in neither", vec![member(1), member(2)], &[1, 2], (1, 1, vec![2], vec![])),
        ("D5: c left", vec![member(1), member(2), member(3), left(4)], &[2], (1, 2, vec![2], vec![3])),
        (
            "H6: b has receipts off",
            vec![member(1), member(2), switched(3, &[(10, 10, false)])],
            &[2, 3],
            (1, 1, vec![2], vec![]),
        ),
        (
            "R6: switched on again after the message",
            vec![member(1), switched(3, &[(10, 10, false), (501, 501, true)])],
            &[3],
            (0, 0, vec![], vec![]),
        ),
        (
            "R6: switched on again before the message",
            vec![member(1), switched(3, &[(10, 10, false), (500, 500, true)])],
            &[3],
            (1, 1, vec![3], vec![]),
        ),
        (
            "R32: on at 401 by its order, but off happened at 510",
            vec![member(1), switched(3, &[(400, 510, false), (401, 390, true)])],
            &[3],
            (0, 0, vec![], vec![]),
        ),
        (
            "known only by a switch",
            vec![member(1), Member { uid: uid(4), ..Member::default() }],
            &[4],
            (0, 0, vec![], vec![]),
        ),
        ("a reader who never was a member", vec![member(1), member(2)], &[9], (0, 1, vec![], vec![2])),
    ] {
        assert_eq!(answer(&roster(&members), 5, read_by), wanted, "{name}");
        let turned: Vec<Member> = members.into_iter().rev().collect();
        assert_eq!(answer(&roster(&turned), 5, read_by), wanted, "{name}, rows turned round");
    }
}

/// R7: policy off from 450, full again from 550.
#[test]
fn a_policy_counts_for_all_members() {
    let policy = [switch(450, 450, ReceiptsMode::Off), switch(550, 550, ReceiptsMode::Full)];
    let members = [member(1), member(2)];
    let at = |switches: &[Switch<ReceiptsMode>]| {
        Roster::new(&members, &switches.iter().copied().collect(), ReceiptsMode::Full)
    };
    assert_eq!(answer(&at(&policy[..1]), 4, &[2]).1, 0, "off");
    assert_eq!(at(&policy[..1]).mode(), ReceiptsMode::Off);
    let again = at(&policy);
    assert_eq!([4, 5, 6].map(|seq| answer(&again, seq, &[2]).1), [0, 0, 1]);
    let count = at(&[switch(450, 450, ReceiptsMode::Count)]);
    assert_eq!((answer(&count, 4, &[2]).0, count.mode()), (1, ReceiptsMode::Count), "R18: no reader lost");
}

/// R4: 50 joins and 3 leaves of one order; a join and a leave of one user at the same time.
#[test]
fn a_batch_of_one_time_is_all_effective() {
    let mut members: Vec<Member> = (1..=50).map(member).collect();
    for row in &mut members[47..] {
        row.presence = row.presence.max(Some(presence(1, false)));
    }
    let tally = Tally::of(&roster(&members), &message(1), NONE, &readers(&[2, 48]));
    assert_eq!((tally.read, tally.total), (1, 46), "47 present, less the sender");
}

#[test]
fn void_seqs_answer_nothing_and_newer() {
    let roster = roster(&[member(1), member(2)]);
    let before = Tally::of(&roster, &message(1), NONE, &readers(&[2]));
    for flags in [RECALLED, SKIPPED, RECALLED.merge(SKIPPED)] {
        let after = Tally::of(&roster, &message(1), flags, &readers(&[2]));
        assert_eq!((after.read, after.total, after.all_read()), (0, 0, false));
        assert!(after.version > before.version);
        assert_eq!(lists(&roster, &message(1), flags, &readers(&[2])), (vec![], vec![]));
    }
}

/// R3: a leave of an older order than another member's still raises the version.
#[test]
fn every_change_of_a_row_raises_the_version() {
    let states = [
        vec![member(1)],
        vec![member(1), Member { uid: uid(2), presence: Some(presence(0, true)), ..Member::default() }],
        vec![member(1), member(2), member(3)],
        vec![member(1), member(2), Member { presence: Some(presence(100, false)), ..member(3) }],
        vec![
            member(1),
            Member { presence: Some(presence(90, false)), ..member(2) },
            Member { presence: Some(presence(100, false)), ..member(3) },
        ],
    ];
    let versions: Vec<TallyVersion> = states
        .iter()
        .map(|rows| Tally::of(&roster(rows), &message(1), NONE, &readers(&[])).version)
        .collect();
    assert!(versions.is_sorted_by(|a, b| a < b), "{versions:?}");
    let read = Tally::of(&roster(&states[2]), &message(1), NONE, &readers(&[2])).version;
    assert!(versions[2] < read && read < versions[3], "read rises at an equal stamp, and a stamp beats it");
}

proptest! {
    #[test]
    fn versions_compare_as_text(a in (0u128..1 << 96, any::<u32>()), b in (0u128..1 << 96, any::<u32>())) {
        let version = |(stamp, read)| TallyVersion { stamp, read };
        let (a, b) = (version(a), version(b));
        prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        prop_assert_eq!(a.to_string().len(), 32);
        prop_assert_eq!(a.to_string().parse(), Ok(a));
    }
}

#[test]
fn a_text_that_is_no_version_is_refused() {
    let fine = "0".repeat(32);
    assert!(fine.parse::<TallyVersion>().is_ok());
    for text in [
        "",
        "0",
        &"0".repeat(31),
        &"0".repeat(33),
        &"A".repeat(32),
        &"é".repeat(16),
        &format!("+{}", &fine[1..]),
    ] {
        assert!(text.parse::<TallyVersion>().is_err(), "{text:?}");
    }
}
