//! Open windows: what is merged before one flush.

use readmark_domain::counting::Message;
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::time::TimeMs;
use readmark_domain::window::Tier;
use readmark_log::{Position, Record, TopicPartition};
use std::collections::{BTreeMap, BTreeSet};

/// A window closes early at so many receipts: a flush stays a fraction of a second.
const CLOSE_AT_RECEIPTS: usize = 10_000;
/// A window closes early at so many bytes of records, which it holds for the dead letters.
const CLOSE_AT_BYTES: usize = 1024 * 1024;
/// Open windows in all; beyond it the oldest close early.
const OPEN_AT_MOST: usize = 2_048;
/// Receipts in all open windows; beyond it the oldest close early.
const OPEN_RECEIPTS_AT_MOST: usize = 100_000;
/// Bytes of records in all open windows; beyond it the oldest close early.
const OPEN_BYTES_AT_MOST: usize = 32 * 1024 * 1024;

/// A message in a window.
#[derive(Debug, Clone)]
pub(crate) struct Touched {
    pub message: Message,
    pub readers: BTreeSet<Uid>,
    /// A recount names it: it is told whoever has read it.
    pub recount: bool,
    /// When the oldest of its acks was accepted.
    pub accepted_at: Option<TimeMs>,
}

/// What is merged for one sender in one conversation.
#[derive(Debug)]
pub(crate) struct Window {
    pub conversation_id: ConversationId,
    pub sender: Uid,
    pub messages: BTreeMap<Seq, Touched>,
    /// A recount is among it: roster and sets are read anew.
    pub recount: bool,
    /// The records merged, which hold their offsets until the flush is done.
    pub records: Vec<Record>,
    due_ms: u64,
    receipts: usize,
    bytes: usize,
}

impl Window {
    fn belongs_to(&self, partitions: &[TopicPartition]) -> bool {
        self.records.iter().any(|record| partitions.contains(&record.position.partition))
    }

    /// Where its records lie.
    pub fn positions(&self) -> Vec<Position> {
        self.records.iter().map(|record| record.position).collect()
    }
}

/// What one record adds to a window.
#[derive(Debug)]
pub(crate) struct Share {
    pub record: Record,
    pub sender: Uid,
    pub messages: Vec<Message>,
    /// The reader; `None` for a recount.
    pub reader: Option<Uid>,
}

/// All open windows.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    open: BTreeMap<(ConversationId, Uid), Window>,
    receipts: usize,
    bytes: usize,
}

impl Windows {
    /// Adds what a record says about existing messages of its sender in one conversation.
    pub fn add(&mut self, id: &ConversationId, tier: Tier, share: Share, now_ms: u64) {
        let window = self.open.entry((id.clone(), share.sender)).or_insert_with(|| Window {
            conversation_id: id.clone(),
            sender: share.sender,
            messages: BTreeMap::new(),
            recount: false,
            records: Vec::new(),
            due_ms: now_ms + tier.window_ms(),
            receipts: 0,
            bytes: 0,
        });
        window.recount |= share.reader.is_none();
        let receipts = share.messages.len();
        let accepted_at = share.record.accepted_at();
        for message in share.messages {
            let touched = window.messages.entry(message.seq).or_insert_with(|| Touched {
                message,
                readers: BTreeSet::new(),
                recount: false,
                accepted_at: None,
            });
            touched.accepted_at = [touched.accepted_at, accepted_at].into_iter().flatten().min();
            touched.readers.extend(share.reader);
            touched.recount |= share.reader.is_none();
        }
        let bytes = share.record.payload.len();
        window.records.push(share.record);
        window.receipts += receipts;
        window.bytes += bytes;
        self.receipts += receipts;
        self.bytes += bytes;
        if window.receipts >= CLOSE_AT_RECEIPTS || window.bytes >= CLOSE_AT_BYTES {
            window.due_ms = now_ms;
        }
    }

    /// Is so much open that windows must close before more is taken in?
    pub fn is_full(&self) -> bool {
        self.open.len() > OPEN_AT_MOST
            || self.receipts > OPEN_RECEIPTS_AT_MOST
            || self.bytes > OPEN_BYTES_AT_MOST
    }

    /// Windows whose time has come, the oldest first; all of them when too much is open.
    pub fn take_due(&mut self, now_ms: u64) -> Vec<Window> {
        let all = self.is_full();
        self.take(|window| all || window.due_ms <= now_ms)
    }

    /// Windows with records of these partitions.
    pub fn take_of(&mut self, partitions: &[TopicPartition]) -> Vec<Window> {
        self.take(|window| window.belongs_to(partitions))
    }

    fn take(&mut self, wanted: impl Fn(&Window) -> bool) -> Vec<Window> {
        let mut taken: Vec<Window> =
            self.open.extract_if(.., |_, window| wanted(window)).map(|(_, w)| w).collect();
        for window in &taken {
            self.receipts -= window.receipts;
            self.bytes -= window.bytes;
        }
        taken.sort_by_key(|window| window.due_ms);
        taken
    }

    pub fn next_due_ms(&self) -> Option<u64> {
        self.open.values().map(|window| window.due_ms).min()
    }

    pub fn len(&self) -> usize {
        self.open.len()
    }
}
