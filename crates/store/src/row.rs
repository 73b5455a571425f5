//! Rows as they are read and written.

use readmark_domain::counting::Member;
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

/// How much longer than their message readers are kept, in milliseconds: clocks of writers differ, and readers
/// must never expire before their message.
pub const READERS_OUTLIVE_MESSAGE_MS: u64 = 60_000;

impl ReadArrayAdd {
    /// When these readers expire.
    #[must_use]
    pub const fn readers_expire_at(&self) -> TimeMs {
        self.message_expires_at.plus_ms(READERS_OUTLIVE_MESSAGE_MS)
    }
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

    /// Merges a written presence, and `joined` with it when it was a join.
    pub fn apply_change(&mut self, change: &MemberChange) {
        self.presence = self.presence.max(Some(change.presence));
        self.joined = self.joined.max(change.joined.unwrap_or_default());
    }

    /// Merges one raised register; what is not greater changes nothing.
    pub fn apply(&mut self, raise: &Raise) {
        match raise {
            Raise::Read { seq, read_at, endpoint } => {
                let mark = ReadMark { seq: *seq, read_at: *read_at, endpoint: endpoint.clone() };
                self.read = std::mem::take(&mut self.read).merge(mark);
            }
            Raise::Cleared(seq) => self.cleared = self.cleared.max(*seq),
            Raise::Own(seq) => self.own = self.own.max(*seq),
            Raise::Claimed(seq) => self.claimed = self.claimed.max(*seq),
            Raise::Receipted(seq) => self.receipted = self.receipted.max(*seq),
            Raise::Imported(seq) => self.imported = self.imported.max(*seq),
            Raise::Muted(latest) => self.muted = self.muted.max(Some(*latest)),
            Raise::MarkedUnread(latest) => self.marked_unread = self.marked_unread.max(Some(*latest)),
        }
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

/// Merges a written presence into a member's row.
pub(crate) fn apply_change_to_member(member: &mut Member, change: &MemberChange) {
    member.presence = member.presence.max(Some(change.presence));
    member.joined = member.joined.max(change.joined.unwrap_or_default());
}

/// Merges the registers that a member's row has copies of.
pub(crate) fn apply_raises_to_member(member: &mut Member, raises: &[Raise]) {
    for raise in raises {
        match raise {
            Raise::Claimed(seq) => member.claimed = member.claimed.max(*seq),
            Raise::Imported(seq) => member.imported = member.imported.max(*seq),
            Raise::Read { .. }
            | Raise::Cleared(_)
            | Raise::Own(_)
            | Raise::Receipted(_)
            | Raise::Muted(_)
            | Raise::MarkedUnread(_) => {}
        }
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

impl Raise {
    /// Does the member's row have a copy of this register?
    pub(crate) const fn is_copied_to_member(&self) -> bool {
        match self {
            Self::Claimed(_) | Self::Imported(_) => true,
            Self::Read { .. }
            | Self::Cleared(_)
            | Self::Own(_)
            | Self::Receipted(_)
            | Self::Muted(_)
            | Self::MarkedUnread(_) => false,
        }
    }
}
