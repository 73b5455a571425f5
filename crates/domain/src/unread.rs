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
