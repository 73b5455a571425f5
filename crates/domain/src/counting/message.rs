use crate::id::{ConversationId, MsgId, Seq, Uid};
use crate::time::TimeMs;

/// What is known of a message. Written once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// Its place there.
    pub seq: Seq,
    /// The IM's own id.
    pub msg_id: MsgId,
    /// Who sent it.
    pub sender_uid: Uid,
    /// When it was sent.
    pub sent_at: TimeMs,
    /// Does it count as unread?
    pub countable: bool,
    /// Chunks of its read array: a maximum.
    pub chunks: u16,
}

/// What a seq is besides a message: grow-only flags, which may come before the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MessageFlags {
    /// Recalled: answers 0/0 and takes no receipts.
    pub recalled: bool,
    /// Declared to be no message.
    pub skipped: bool,
    /// A message that is not countable.
    pub not_countable: bool,
}

impl MessageFlags {
    /// Recalled or skipped: answers 0/0 and takes no receipts, whichever of message, flag and receipts came
    /// first.
    #[must_use]
    pub const fn is_void(self) -> bool {
        self.recalled || self.skipped
    }

    /// Left out of unread counts?
    #[must_use]
    pub const fn is_uncounted(self) -> bool {
        self.recalled || self.skipped || self.not_countable
    }

    /// The union of two sets of flags.
    #[must_use]
    pub const fn merge(self, other: Self) -> Self {
        Self {
            recalled: self.recalled || other.recalled,
            skipped: self.skipped || other.skipped,
            not_countable: self.not_countable || other.not_countable,
        }
    }
}
