//! What this owner knows without asking the store again: bounded, and never older than its rule allows.
//!
//! Since a sender's acks all come to one partition, its owner keeps the read arrays it touches: N needs no
//! read-back and known readers are not written again. Correct without any of it.

use lru::LruCache;
use readmark_domain::counting::{Message, MessageFlags, Roster};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::read_array::ReadArray;
use readmark_domain::time::TimeMs;
use readmark_domain::verdict::{Place, PlaceFacts, Retention, place};
use readmark_runtime::ports::{Ports, Rules};
use readmark_runtime::retry::Retrier;
use readmark_store::StoreError;
use readmark_store::lookup::places;
use readmark_domain::seq_ranges::SeqRanges;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Messages remembered, about 200 bytes each.
const MESSAGES_AT_MOST: usize = 100_000;
/// How long a message's flags are believed.
const MESSAGE_GOOD_FOR_MS: u64 = 60_000;
/// Member rows remembered over all rosters, about 64 bytes each.
const ROSTER_MEMBERS_AT_MOST: usize = 500_000;
/// How long a roster is good for counting.
const ROSTER_GOOD_FOR_MS: u64 = 1_000;
/// Bytes of read arrays remembered.
const ARRAY_BYTES_AT_MOST: usize = 64 * 1024 * 1024;
/// How long a read array is believed: another owner may have added during a hand-over.
const ARRAY_GOOD_FOR_MS: u64 = 60_000;
/// What an empty array costs.
const ARRAY_BASE_BYTES: usize = 128;

#[derive(Debug, Clone)]
struct KnownMessage {
    message: Message,
    flags: MessageFlags,
    /// When it was read, in this owner's own count of reads.
    read_no: u64,
    read_at_ms: u64,
}

/// A roster as it was read.
#[derive(Debug)]
pub(crate) struct KnownRoster {
    pub roster: Roster,
    /// When each member last switched receipts off.
    pub newest_off: HashMap<Uid, TimeMs>,
    /// The conversation's head then.
    pub head: Seq,
    members: usize,
    read_no: u64,
    read_at_ms: u64,
}

#[derive(Debug)]
struct KnownArray {
    array: ReadArray,
    read_at_ms: u64,
}

fn place_of(known: &KnownMessage, retention: Retention, now: TimeMs) -> Place {
    let facts =
        PlaceFacts { message: Some(known.message.clone()), flags: known.flags, ..PlaceFacts::default() };
    place(known.message.seq, facts, retention, now)
}

fn bytes_of(array: &ReadArray) -> usize {
    ARRAY_BASE_BYTES + array.len() * size_of::<Uid>()
}

/// The caches of one owner.
pub(crate) struct Knowledge {
    ports: Ports,
    rules: Rules,
    retrier: Retrier,
    reads: u64,
    messages: LruCache<(ConversationId, Seq), KnownMessage>,
    rosters: LruCache<ConversationId, Arc<KnownRoster>>,
    roster_members: usize,
    arrays: LruCache<(ConversationId, Seq), KnownArray>,
    array_bytes: usize,
}

impl Knowledge {
    pub fn new(ports: Ports, rules: Rules, retrier: Retrier) -> Self {
        Self {
            ports,
            rules,
            retrier,
            reads: 0,
            messages: LruCache::unbounded(),
            rosters: LruCache::unbounded(),
            roster_members: 0,
            arrays: LruCache::unbounded(),
            array_bytes: 0,
        }
    }

    /// Numbers this owner's reads, so that "read after" can be told.
    fn next_read(&mut self) -> u64 {
        self.reads += 1;
        self.reads
    }

    /// What is at each of these seqs. What is not there is never remembered.
    pub async fn places(
        &mut self,
        id: &ConversationId,
        seqs: &SeqRanges,
    ) -> Result<BTreeMap<Seq, Place>, StoreError> {
        let (now, now_ms) = (self.ports.clock.now(), self.ports.clock.elapsed_ms());
        let mut found = BTreeMap::new();
        let mut asked = Vec::new();
        for seq in seqs.iter() {
            let good = |known: &&KnownMessage| now_ms.saturating_sub(known.read_at_ms) < MESSAGE_GOOD_FOR_MS;
            match self.messages.get(&(id.clone(), seq)).filter(good) {
                Some(known) => {
                    found.insert(seq, place_of(known, self.rules.retention, now));
                }
                None => asked.push(seq),
            }
        }
        let asked = SeqRanges::from_seqs(asked);
        if asked.is_empty() {
            return Ok(found);
        }
        let (store, retention) = (&*self.ports.store, self.rules.retention);
        let read = self.retrier.run(|| places(store, id, &asked, retention, now)).await?;
        let read_no = self.next_read();
        for (seq, place) in read {
            if let Place::Message(message, flags) = &place {
                let known =
                    KnownMessage { message: message.clone(), flags: *flags, read_no, read_at_ms: now_ms };
                self.messages.put((id.clone(), seq), known);
            }
            found.insert(seq, place);
        }
        while self.messages.len() > MESSAGES_AT_MOST {
            self.messages.pop_lru();
        }
        Ok(found)
    }

    /// A roster of any age: for sizes, and for switches to off, which only drop less when old.
    pub async fn any_roster(&mut self, id: &ConversationId) -> Result<Arc<KnownRoster>, StoreError> {
        match self.rosters.get(id) {
            Some(known) => Ok(known.clone()),
            None => self.read_roster(id).await,
        }
    }

    /// A roster to count these messages with: at most 1 s old, and read after this owner first read each
    /// message, so that whoever joined before the message is in it.
    pub async fn roster_for(
        &mut self,
        id: &ConversationId,
        seqs: &[Seq],
        anew: bool,
    ) -> Result<Arc<KnownRoster>, StoreError> {
        let now_ms = self.ports.clock.elapsed_ms();
        let newest_read = seqs
            .iter()
            .map(|seq| self.messages.peek(&(id.clone(), *seq)).map_or(u64::MAX, |known| known.read_no))
            .max()
            .unwrap_or(0);
        let good = |known: &&Arc<KnownRoster>| {
            known.read_no > newest_read && now_ms.saturating_sub(known.read_at_ms) < ROSTER_GOOD_FOR_MS
        };
        match self.rosters.get(id).filter(good).filter(|_| !anew) {
            Some(known) => Ok(known.clone()),
            None => self.read_roster(id).await,
        }
    }

    async fn read_roster(&mut self, id: &ConversationId) -> Result<Arc<KnownRoster>, StoreError> {
        let read_no = self.next_read();
        let read_at_ms = self.ports.clock.elapsed_ms();
        let store = &*self.ports.store;
        let conversation = self.retrier.run(|| store.conversation(id)).await?.unwrap_or_default();
        let members = self.retrier.run(|| store.members(id)).await?;
        let offs = members.iter().filter_map(|m| m.switches.newest_off().map(|off| (m.uid, off)));
        let known = Arc::new(KnownRoster {
            newest_off: offs.collect(),
            roster: Roster::new(&members, &conversation.policy, self.rules.default_receipts),
            head: conversation.head,
            members: members.len(),
            read_no,
            read_at_ms,
        });
        self.roster_members += known.members;
        if let Some(old) = self.rosters.put(id.clone(), known.clone()) {
            self.roster_members -= old.members;
        }
        while self.roster_members > ROSTER_MEMBERS_AT_MOST && self.rosters.len() > 1 {
            if let Some((_, old)) = self.rosters.pop_lru() {
                self.roster_members -= old.members;
            }
        }
        Ok(known)
    }

    /// Takes the read arrays of these messages out, reading those that are not known, are too old, or are
    /// wanted anew. Give them back with [`Knowledge::put_arrays`].
    pub async fn take_arrays(
        &mut self,
        id: &ConversationId,
        seqs: &[Seq],
        anew: bool,
    ) -> Result<BTreeMap<Seq, (ReadArray, u64)>, StoreError> {
        let now_ms = self.ports.clock.elapsed_ms();
        let mut taken = BTreeMap::new();
        let mut asked = Vec::new();
        for seq in seqs {
            let known = self.arrays.pop(&(id.clone(), *seq));
            if let Some(known) = &known {
                self.array_bytes -= bytes_of(&known.array);
            }
            match known {
                Some(known) if !anew && now_ms.saturating_sub(known.read_at_ms) < ARRAY_GOOD_FOR_MS => {
                    taken.insert(*seq, (known.array, known.read_at_ms));
                }
                _ => asked.push(*seq),
            }
        }
        if !asked.is_empty() {
            let store = &*self.ports.store;
            let arrays = self.retrier.run(|| store.read_arrays(id, &asked)).await?;
            taken.extend(asked.into_iter().zip(arrays.into_iter().map(|array| (array, now_ms))));
        }
        Ok(taken)
    }

    /// Remembers read arrays as they are in the store now.
    pub fn put_arrays(&mut self, id: &ConversationId, arrays: BTreeMap<Seq, (ReadArray, u64)>) {
        for (seq, (array, read_at_ms)) in arrays {
            self.array_bytes += bytes_of(&array);
            if let Some(old) = self.arrays.put((id.clone(), seq), KnownArray { array, read_at_ms }) {
                self.array_bytes -= bytes_of(&old.array);
            }
        }
        while self.array_bytes > ARRAY_BYTES_AT_MOST {
            let Some((_, old)) = self.arrays.pop_lru() else { break };
            self.array_bytes -= bytes_of(&old.array);
        }
    }

    /// Forgets everything: another owner may go on with these conversations.
    pub fn clear(&mut self) {
        self.messages.clear();
        self.rosters.clear();
        self.arrays.clear();
        self.roster_members = 0;
        self.array_bytes = 0;
    }
}
