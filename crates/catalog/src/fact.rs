//! Facts of conversation-events, by how they are written.

use readmark_domain::fact::{HeadImported, MessageRecalled, MessageSent, SeqSkipped};
use readmark_domain::id::{Seq, Uid};
use readmark_domain::time::Order;

/// A fact about messages.
#[derive(Debug, Clone)]
pub(crate) enum MessageFact {
    Sent(MessageSent),
    Recalled(MessageRecalled),
    Skipped(SeqSkipped),
    HeadImported(HeadImported),
}

/// A fact about a member.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemberFact {
    pub uid: Uid,
    pub order: Order,
    /// The seq after which it joined; `None` for a leave.
    pub joined: Option<Seq>,
}
