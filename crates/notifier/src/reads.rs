//! What was said on read-changed, merged per user: marks and flags by conversation, tallies by message.

use readmark_domain::hot::{Cause, Change, TallyChange};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::time::TimeMs;
use readmark_domain::window::Tier;
use readmark_events::{ConversationRead, FlagsChanged, MessageRead, ReadChanged, header_name};
use readmark_hot::{TallyTold, UserChange};
use readmark_log::Record;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A tally on its way to its sender.
#[derive(Debug)]
struct Tally {
    change: TallyChange,
    /// When the oldest ack behind it was accepted, and the size of the group, for the latency.
    accepted_at: Option<Accepted>,
}

/// When an ack was accepted, and how large its group is.
pub(crate) type Accepted = (TimeMs, Tier);

/// The facts of a batch.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    marks: BTreeMap<(Uid, ConversationId), Change>,
    tallies: BTreeMap<(Uid, ConversationId, Seq), Tally>,
}

impl Reads {
    /// Adds a fact.
    pub fn add(&mut self, record: &Record, changed: ReadChanged) {
        match changed {
            ReadChanged::MessageRead(told) => self.add_tally(record, told),
            ReadChanged::ConversationRead(told) => self.add_mark(told),
            ReadChanged::FlagsChanged(told) => self.add_flags(told),
        }
    }

    fn add_mark(&mut self, told: ConversationRead) {
        let change = self.marks.entry((told.uid, told.conversation_id)).or_default();
        if told.read_seq >= change.read || change.cause == Cause::Other {
            change.cause = Cause::Read(told.endpoint);
        }
        change.read = change.read.max(told.read_seq);
        change.floor = change.floor.max(told.floor_seq);
        change.marked_unread = change.marked_unread.max(told.marked_unread);
    }

    fn add_flags(&mut self, told: FlagsChanged) {
        let change = self.marks.entry((told.uid, told.conversation_id)).or_default();
        change.marked_unread = change.marked_unread.max(told.marked_unread);
        change.muted = change.muted.max(told.muted);
    }

    /// Of two tallies of a message the newer one is told, without the readers that the older one added: some of them may
    /// not count any more, and a device that misses names asks for them.
    fn add_tally(&mut self, record: &Record, told: MessageRead) {
        let tier = record.header(header_name::TIER).and_then(Tier::named);
        let now = Tally {
            accepted_at: record.accepted_at().zip(tier),
            change: TallyChange {
                conversation_id: told.conversation_id.clone(),
                seq: told.seq,
                mode: told.mode,
                read: told.read,
                total: told.total,
                readers_added: told.readers_added,
                version: told.tally_version,
            },
        };
        let key = (told.uid, told.conversation_id, told.seq);
        let Some(known) = self.tallies.get_mut(&key) else {
            self.tallies.insert(key, now);
            return;
        };
        known.accepted_at = [known.accepted_at, now.accepted_at].into_iter().flatten().min();
        if now.change.version > known.change.version {
            known.change = now.change;
        }
    }

    /// Marks and flags.
    pub fn changes(&self) -> Vec<UserChange> {
        let change = |((uid, id), change): (&(Uid, ConversationId), &Change)| UserChange {
            uid: *uid,
            conversation_id: id.clone(),
            change: Arc::new(change.clone()),
        };
        self.marks.iter().map(change).collect()
    }

    /// Tallies, each with when its oldest ack was accepted, and the tier.
    pub fn tallies(self) -> (Vec<TallyTold>, Vec<Option<Accepted>>) {
        let tallies = self.tallies.into_iter();
        tallies.map(|((uid, ..), tally)| (TallyTold { uid, change: tally.change }, tally.accepted_at)).unzip()
    }
}
