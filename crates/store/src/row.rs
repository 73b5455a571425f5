//! Rows as they are read and written.

use readmark_domain::id::{ConversationId, Endpoint, Seq, Uid};
use readmark_domain::register::{Latest, PolicySwitches, Presence, ReadMark};
use readmark_domain::time::TimeMs;
use readmark_domain::unread::FloorParts;

/// A conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conversation {
    /// The newest seq, zero before the first message.
    pub head: Seq,
    /// The head when it was imported, zero when it was not.
    pub imported_head: Seq,
    /// Its policy switches.
    pub policy: PolicySwitches,
    /// Closed?
    pub closed: Option<Latest>,
    /// More than 5,000 members once.
    pub large: bool,
}

impl Conversation {
    /// Closed now?
    #[must_use]
    pub fn is_closed(&self) -> bool {
        Latest::value_of(self.closed)
    }
}

/// A bucket of messages: kept without expiry, so that what is missing can be told from what is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// [`Seq::bucket`] of its messages.
    pub bucket: u64,
    /// The newest sent_at of its messages.
    pub newest_sent_at: TimeMs,
}

/// A change of a member's presence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberChange {
    /// Who.
    pub uid: Uid,
    /// The presence written.
    pub presence: Presence,
    /// The seq after which it joined; `None` for a leave.
    pub joined: Option<Seq>,
}

/// Receipts to be added to the read array of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadArrayAdd {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The message.
    pub seq: Seq,
    /// Chunks of its read array.
    pub chunks: u16,
    /// When the message expires; its readers expire a minute later, never before it. With nothing left,
    /// nothing is written.
    pub message_expires_at: TimeMs,
    /// Who has read it.
    pub readers: Vec<Uid>,
}

/// A user's registers in one conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserConversation {
    /// Present or absent.
    pub presence: Option<Presence>,
    /// The greatest seq after which the user joined.
    pub joined: Seq,
    /// The watermark.
    pub read: ReadMark,
    /// Highest seq cleared.
    pub cleared: Seq,
    /// The user's newest own message.
    pub own: Seq,
    /// The highest "read up to" asked.
    pub claimed: Seq,
    /// How far that was expanded into receipts.
    pub receipted: Seq,
    /// The imported watermark.
    pub imported: Seq,
    /// Left out of the totals?
    pub muted: Option<Latest>,
    /// Marked as unread by hand?
    pub marked_unread: Option<Latest>,
}

impl UserConversation {
    /// Present?
    #[must_use]
    pub fn is_present(&self) -> bool {
        self.presence.is_some_and(Presence::is_present)
    }

    /// The seq up to which nothing is unread.
    #[must_use]
    pub fn floor(&self) -> Seq {
        readmark_domain::unread::floor(FloorParts {
            read: self.read.seq,
            joined: self.joined,
            cleared: self.cleared,
            own: self.own,
        })
    }
}

/// A user's registers with their conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserConversationEntry {
    /// Which.
    pub conversation_id: ConversationId,
    /// The registers.
    pub registers: UserConversation,
}

/// A register of a user in a conversation to be raised or set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Raise {
    /// The watermark: the greatest seq wins, then time and endpoint.
    Read {
        /// To here.
        seq: Seq,
        /// When.
        read_at: TimeMs,
        /// From which device.
        endpoint: Option<Endpoint>,
    },
    /// Highest seq cleared.
    Cleared(Seq),
    /// The user's newest own message.
    Own(Seq),
    /// The highest "read up to" asked. With its copy in the members' row.
    Claimed(Seq),
    /// How far that was expanded.
    Receipted(Seq),
    /// The imported watermark. With its copy in the members' row.
    Imported(Seq),
    /// Left out of the totals: the greatest order wins.
    Muted(Latest),
    /// Marked by hand: the greatest order wins.
    MarkedUnread(Latest),
}
