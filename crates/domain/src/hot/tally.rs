use super::entry::News;
use crate::counting::TallyVersion;
use crate::id::{ConversationId, Seq, Uid};
use crate::register::ReceiptsMode;
use std::collections::{HashMap, VecDeque};

/// Messages of a sender whose last tally is kept: those told of first are forgotten first, and what is told again
/// of a forgotten one is told again to the devices.
pub const TALLIES_MAX: usize = 1_000;

/// A message_read, as told to its sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TallyChange {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The message.
    pub seq: Seq,
    /// The conversation's policy.
    pub mode: ReceiptsMode,
    /// N.
    pub read: u32,
    /// M.
    pub total: u32,
    /// Readers this change added.
    pub readers_added: Vec<Uid>,
    /// Which of two is the newer.
    pub version: TallyVersion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Told {
    version: TallyVersion,
    seen: (u32, u32, ReceiptsMode),
}

/// The last tally told of each of a sender's newest messages.
#[derive(Debug, Clone, Default)]
pub struct Tallies {
    told: HashMap<(ConversationId, Seq), Told>,
    /// In the order they were first told in.
    order: VecDeque<(ConversationId, Seq)>,
}

impl Tallies {
    /// How many are kept.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// Merges a tally; the news when devices must learn of it. A version not greater than the last is dropped; one
    /// that says the same as before is kept and not told (RR-6, RR-8).
    pub fn merge(&mut self, change: &TallyChange) -> Option<News> {
        let key = (change.conversation_id.clone(), change.seq);
        let now = Told { version: change.version, seen: (change.read, change.total, change.mode) };
        let is_news = match self.told.insert(key.clone(), now) {
            Some(last) if last.version >= now.version => {
                self.told.insert(key, last);
                false
            }
            Some(last) => last.seen != now.seen,
            None => {
                self.order.push_back(key);
                true
            }
        };
        if self.order.len() > TALLIES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.told.remove(&oldest);
        }
        is_news.then(|| News::MessageRead {
            conversation_id: change.conversation_id.clone(),
            seq: change.seq,
            mode: change.mode,
            read: change.read,
            total: change.total,
            readers_added: change.readers_added.clone(),
            tally_version: change.version,
        })
    }
}
