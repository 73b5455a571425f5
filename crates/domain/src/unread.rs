//! The reader's red dot.

use crate::id::Seq;

/// The registers of one user in one conversation that decide what is unread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FloorParts {
    /// Highest seq read.
    pub read: Seq,
    /// The seq after which the user joined.
    pub joined: Seq,
    /// Highest seq cleared.
    pub cleared: Seq,
    /// The user's newest own message: sending clears one's own red dot.
    pub own: Seq,
}

/// The seq up to which nothing is unread.
#[must_use]
pub fn floor(parts: FloorParts) -> Seq {
    parts.read.max(parts.joined).max(parts.cleared).max(parts.own)
}

/// How many messages are unread: those in `(floor, head]` less the uncounted among them (recalled, skipped,
/// not countable). Never negative (RR-5).
#[must_use]
pub const fn unread(head: Seq, floor: Seq, uncounted_between: u64) -> u64 {
    head.get().saturating_sub(floor.get()).saturating_sub(uncounted_between)
}

#[cfg(test)]
mod tests {
    use super::{FloorParts, floor, unread};
    use crate::id::Seq;

    fn seq(n: u64) -> Seq {
        Seq::new_or_zero(n).unwrap()
    }

    /// What a user sees, as a table: head, (read, joined, cleared, own), uncounted above the floor.
    #[test]
    fn the_red_dot() {
        for (name, head, [read, joined, cleared, own], uncounted, wanted) in [
            ("A5: marked 3, then only own messages up to 30", 30, [3, 0, 0, 30], 0, 0),
            ("A6: the source went back behind the mark", 50, [50, 0, 0, 0], 0, 0),
            ("A10: mark 20, own message 15", 20, [20, 0, 0, 15], 0, 0),
            ("B5: cleared at the live edge", 40, [0, 0, 40, 0], 0, 0),
            ("B9: own message 5 above the mark 4, then 6 by another", 6, [4, 0, 0, 5], 0, 1),
            ("C1: two messages, one recalled", 2, [0, 0, 0, 0], 1, 1),
            ("C2: marked 4, 5 recalled", 5, [4, 0, 0, 0], 1, 0),
            ("C9: everything below the mark is gone, 11 arrives", 11, [10, 0, 0, 0], 0, 1),
            ("C11: cleared at 20, 21 arrives", 21, [0, 0, 20, 0], 0, 1),
            ("D10: never connected", 25, [0, 0, 0, 0], 0, 25),
            ("E3: own 3, then two by another", 5, [0, 0, 0, 3], 0, 2),
            ("joined at 10, head 12", 12, [0, 10, 0, 0], 0, 2),
            ("R14: 4…6 skipped of 10, marked 3", 10, [3, 0, 0, 0], 3, 4),
            ("R16: imported", 500_000, [499_990, 0, 0, 0], 0, 10),
            ("R17: a message in flight beyond the clear", 41, [0, 0, 40, 0], 0, 1),
            ("S14: a thousand, marked 10", 1_000, [10, 0, 0, 0], 0, 990),
            ("a mark that overtook the head", 5, [9, 0, 0, 0], 0, 0),
            ("more uncounted than there are: never negative", 5, [3, 0, 0, 0], 9, 0),
        ] {
            let floor = floor(FloorParts {
                read: seq(read),
                joined: seq(joined),
                cleared: seq(cleared),
                own: seq(own),
            });
            assert_eq!(unread(seq(head), floor, uncounted), wanted, "{name}");
        }
    }
}
