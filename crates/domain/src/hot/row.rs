use super::message_count::MessageCount;
use crate::id::Seq;

/// What a user's devices see of one conversation. There is a row for every open conversation that the user is
/// present in, and none for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Row {
    /// The newest seq.
    pub head: Seq,
    /// The watermark.
    pub read: Seq,
    /// The seq up to which nothing is unread.
    pub floor: Seq,
    /// Countable messages above the floor.
    pub unread: MessageCount,
    /// Those of them that mention the user.
    pub mentions: MessageCount,
    /// Marked by hand.
    pub marked_unread: bool,
    /// Left out of the totals.
    pub muted: bool,
}

impl Row {
    /// What it adds to the user's totals: unread and mentions, nothing when muted.
    #[must_use]
    pub const fn in_totals(&self) -> (MessageCount, MessageCount) {
        if self.muted { (MessageCount::ZERO, MessageCount::ZERO) } else { (self.unread, self.mentions) }
    }
}
