use super::Registers;
use crate::hot::{Change, CountRange, Counted, Row};
use crate::id::Seq;
use crate::register::{Latest, Presence};
use crate::seq_ranges::{SeqRange, SeqRanges};
use crate::time::Order;

fn seq(n: u64) -> Seq {
    Seq::new_or_zero(n).unwrap()
}

fn seqs(first: u64, last: u64) -> SeqRanges {
    SeqRanges::from_ranges(SeqRange::new(seq(first), seq(last)).into_iter().collect())
}

fn order(n: u64) -> Order {
    Order::new(n).unwrap()
}

fn latest(n: u64, value: bool) -> Latest {
    Latest { order: order(n), value }
}

fn head(n: u64) -> Change {
    Change { head: seq(n), ..Change::default() }
}

fn floor(n: u64) -> Change {
    Change { floor: seq(n), ..Change::default() }
}

fn uncounted(first: u64, last: u64) -> Change {
    Change::default().with_uncounted(&seqs(first, last))
}

fn mentions(first: u64, last: u64) -> Change {
    Change::default().with_mentions(&seqs(first, last))
}

/// A member of an open conversation with this head and floor.
fn member(head: u64, floor: u64) -> Registers {
    let mut registers = Registers::default();
    registers.merge(&Change {
        head: seq(head),
        floor: seq(floor),
        presence: Some(Presence::new(order(1), true)),
        ..Change::default()
    });
    registers
}

fn counts(row: Option<Row>) -> Option<(u64, u64)> {
    row.map(|row| (row.unread.get(), row.mentions.get()))
}

fn range(floor: u64, head: u64) -> CountRange {
    CountRange { floor: seq(floor), head: seq(head) }
}

fn counted(floor: u64, head: u64, [uncounted, mentions, uncounted_mentions]: [u64; 3]) -> Change {
    let counted = Counted { range: range(floor, head), uncounted, mentions, uncounted_mentions };
    Change::of_counted(counted, crate::hot::Cause::Other)
}

/// The red dot, by the changes that led there: unread and mentions, `None` when there is no row.
#[test]
fn the_red_dot() {
    for (name, changes, wanted) in [
        ("C1: two, one recalled", vec![head(2), uncounted(2, 2)], Some((1, 0))),
        ("C5: two mentions, one recalled", vec![head(2), mentions(1, 2), uncounted(2, 2)], Some((1, 1))),
        ("C13: the recall comes first", vec![uncounted(5, 5), floor(4), head(5)], Some((0, 0))),
        ("D10: never connected", vec![head(25)], Some((25, 0))),
        ("R14: 4…6 skipped", vec![head(10), floor(3), uncounted(4, 6)], Some((4, 0))),
        ("S14", vec![head(1_000), floor(10)], Some((990, 0))),
        ("a mark that overtook the head", vec![floor(9), head(5)], Some((0, 0))),
        ("mentions at or below the floor", vec![head(9), mentions(3, 6), floor(5)], Some((4, 1))),
        ("left", vec![head(9), Change { presence: Some(Presence::new(order(2), false)), ..head(9) }], None),
        ("closed", vec![head(9), Change { closed: Some(latest(2, true)), ..head(9) }], None),
    ] {
        let mut registers = member(0, 0);
        for change in changes.iter().chain(&changes) {
            assert_eq!(registers.merge(change).to_count, None, "{name}");
        }
        assert_eq!(counts(registers.row()), wanted, "{name}");
    }
}

/// R28: closed, then opened again: nothing, then the computed number.
#[test]
fn opened_again_the_computed_value_comes_back() {
    let mut registers = member(9, 4);
    let closed = |n, value| Change { closed: Some(latest(n, value)), ..Change::default() };
    let merged = registers.merge(&closed(5, true));
    assert_eq!((counts(merged.before), counts(merged.after)), (Some((5, 0)), None));
    assert_eq!(registers.merge(&head(10)).after, None);
    assert_eq!(counts(registers.merge(&closed(6, false)).after), Some((6, 0)));
}

/// R33 and what becomes of more than can be kept: the row stands still until the store has counted.
#[test]
fn many_recalls_are_counted_in_the_store() {
    let mut registers = member(200, 0);
    for n in (2..=128).step_by(2) {
        assert_eq!(registers.merge(&uncounted(n, n)).to_count, None);
    }
    assert_eq!(counts(registers.row()), Some((136, 0)));
    let merged = registers.merge(&uncounted(130, 130));
    assert_eq!((merged.to_count, counts(merged.after)), (Some(range(0, 200)), Some((136, 0))));
    assert_eq!(registers.missing(), Some(range(0, 200)));
    // Counted for another range, or of nothing: refused.
    for refused in [counted(0, 199, [65, 0, 0]), counted(1, 200, [65, 0, 0]), counted(0, 201, [65, 0, 0])] {
        assert_eq!(registers.merge(&refused).to_count, Some(range(0, 200)));
        assert_eq!(counts(registers.row()), Some((136, 0)));
    }
    // Taken, and asked for again, until nothing is new.
    assert_eq!(registers.merge(&counted(0, 200, [64, 0, 0])).to_count, Some(range(0, 200)));
    assert_eq!(registers.merge(&counted(0, 200, [65, 0, 0])).to_count, Some(range(0, 200)));
    assert_eq!(registers.merge(&counted(0, 200, [64, 0, 0])).to_count, None);
    assert_eq!((counts(registers.row()), registers.missing()), (Some((135, 0)), None));
    // What comes above is kept again.
    registers.merge(&head(203));
    assert_eq!(registers.merge(&uncounted(202, 202)).to_count, None);
    assert_eq!(counts(registers.row()), Some((137, 0)));
    // One more below: the store counts again.
    assert_eq!(registers.merge(&uncounted(132, 132)).to_count, Some(range(0, 200)));
    registers.merge(&counted(0, 200, [66, 0, 0]));
    assert_eq!(counts(registers.row()), Some((136, 0)));
    // The mark rises into the range: other numbers are needed, and the row stands still.
    let merged = registers.merge(&floor(100));
    assert_eq!((merged.to_count, counts(merged.after)), (Some(range(100, 203)), Some((136, 0))));
    registers.merge(&counted(100, 203, [17, 0, 0]));
    assert_eq!(counts(registers.row()), Some((86, 0)));
    // Above all that was dropped nothing is missing.
    assert_eq!(registers.merge(&floor(203)).to_count, None);
    assert_eq!((counts(registers.row()), registers.base), (Some((0, 0)), Seq::ZERO));
}

#[test]
fn many_mentions_are_counted_in_the_store() {
    let mut registers = member(100, 0);
    let merged = registers.merge(&mentions(1, 70));
    assert_eq!(merged.to_count, Some(range(0, 100)));
    registers.merge(&counted(0, 100, [10, 70, 4]));
    assert_eq!(counts(registers.row()), Some((90, 66)));
    registers.merge(&Change { head: seq(102), ..mentions(101, 102) });
    assert_eq!(counts(registers.row()), Some((92, 68)));
}

/// A skip of many seqs that the head has not passed yet.
#[test]
fn many_seqs_above_the_head_are_counted_once_it_passes_them() {
    let mut registers = member(10, 10);
    assert_eq!(registers.merge(&uncounted(11, 5_000)).to_count, None);
    let merged = registers.merge(&head(5_001));
    assert_eq!((merged.to_count, counts(merged.after)), (Some(range(10, 5_001)), Some((0, 0))));
    registers.merge(&counted(10, 5_001, [4_990, 0, 0]));
    assert_eq!(counts(registers.row()), Some((1, 0)));
}

/// A rebuild that could not list all: its numbers hold, or others are asked for.
#[test]
fn a_whole_change_may_bring_numbers_in_place_of_seqs() {
    let whole = |floor: u64, head: u64, uncounted| {
        let counted = Counted { range: range(floor, head), uncounted, mentions: 0, uncounted_mentions: 0 };
        Change {
            head: seq(head),
            floor: seq(floor),
            presence: Some(Presence::new(order(1), true)),
            ..Change::default()
        }
        .with_counted_only(counted)
    };
    let mut registers = Registers::default();
    let merged = registers.merge(&whole(5, 300, 100));
    assert_eq!(counts(merged.after), Some((195, 0)));
    assert_eq!(merged.to_count, Some(range(5, 300)));
    // A mark came in before: the numbers are of another range.
    let mut registers = Registers::default();
    registers.merge(&floor(20));
    let merged = registers.merge(&whole(5, 300, 100));
    assert_eq!((merged.after, merged.to_count), (None, Some(range(20, 300))));
    registers.merge(&counted(20, 300, [90, 0, 0]));
    assert_eq!(counts(registers.row()), Some((190, 0)));
}

/// What was recalled while nobody saw the row is counted when it is seen again.
#[test]
fn a_closed_conversation_forgets_numbers_that_no_longer_hold() {
    let mut registers = member(200, 0);
    registers.merge(&uncounted(1, 65));
    registers.merge(&counted(0, 200, [65, 0, 0]));
    registers.merge(&Change { closed: Some(latest(5, true)), ..Change::default() });
    assert_eq!(registers.merge(&uncounted(70, 70)).to_count, None);
    let opened = registers.merge(&Change { closed: Some(latest(6, false)), ..Change::default() });
    assert_eq!((opened.after, opened.to_count), (None, Some(range(0, 200))));
    registers.merge(&counted(0, 200, [66, 0, 0]));
    assert_eq!(counts(registers.row()), Some((134, 0)));
}
