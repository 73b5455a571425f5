//! What this owner knows without asking the store again: bounded, and never older than its rule allows.
//!
//! Since a sender's acks all come to one partition, its owner keeps the read arrays it touches: N needs no
//! read-back and known readers are not written again. Correct without any of it.

use lru::LruCache;
use readmark_domain::counting::{Message, MessageFlags, Roster};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::read_array::ReadArray;
use readmark_domain::seq_ranges::SeqRanges;
use readmark_domain::time::TimeMs;
use readmark_domain::verdict::{Place, PlaceFacts, Retention, place};
use readmark_runtime::at_once::{self, Call};
use readmark_runtime::ports::{Ports, Rules};
use readmark_runtime::retry::Retrier;
use readmark_store::StoreError;
use readmark_store::lookup::places;
use std::collections::{BTreeMap, BTreeSet, HashMap};
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
/// Conversations read at once.
const READS_AT_ONCE: usize = 16;
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

/// A read array as it is in the store, as far as this owner knows.
#[derive(Debug)]
pub(crate) struct KnownArray {
    pub array: ReadArray,
    read_at_ms: u64,
}

/// Read arrays taken out for a flush.
pub(crate) type Arrays = HashMap<(ConversationId, Seq), KnownArray>;

/// What is at the seqs that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Places(BTreeMap<ConversationId, BTreeMap<Seq, Place>>);

impl Places {
    /// What is at each of `seqs`; what was not asked for is taken as missing.
    pub fn of<'a>(
        &'a self,
        id: &ConversationId,
        seqs: &'a SeqRanges,
    ) -> impl Iterator<Item = (Seq, Place)> + 'a {
        let found = self.0.get(id);
        seqs.iter().map(move |seq| {
            let place = found.and_then(|found| found.get(&seq)).cloned();
            (seq, place.unwrap_or(Place::Missing { beyond_head: true }))
        })
    }
}

async fn read_roster(
    ports: &Ports,
    rules: &Rules,
    retrier: &Retrier,
    id: &ConversationId,
    (read_no, read_at_ms): (u64, u64),
) -> Result<KnownRoster, StoreError> {
    let store = &*ports.store;
    let conversation = retrier.run(|| store.conversation(id)).await?.unwrap_or_default();
    let members = retrier.run(|| store.members(id)).await?;
    let offs = members.iter().filter_map(|m| m.switches.newest_off().map(|off| (m.uid, off)));
    Ok(KnownRoster {
        newest_off: offs.collect(),
        roster: Roster::new(&members, &conversation.policy, rules.default_receipts),
        head: conversation.head,
        members: members.len(),
        read_no,
        read_at_ms,
    })
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
        wanted: &BTreeMap<ConversationId, SeqRanges>,
    ) -> Result<Places, StoreError> {
        let (now, now_ms) = (self.ports.clock.now(), self.ports.clock.elapsed_ms());
        let mut found = Places::default();
        let mut asked: Vec<(ConversationId, SeqRanges)> = Vec::new();
        for (id, seqs) in wanted {
            let known = found.0.entry(id.clone()).or_default();
            let mut unknown = Vec::new();
            for seq in seqs.iter() {
                let good =
                    |known: &&KnownMessage| now_ms.saturating_sub(known.read_at_ms) < MESSAGE_GOOD_FOR_MS;
                match self.messages.get(&(id.clone(), seq)).filter(good) {
                    Some(message) => {
                        known.insert(seq, place_of(message, self.rules.retention, now));
                    }
                    None => unknown.push(seq),
                }
            }
            if !unknown.is_empty() {
                asked.push((id.clone(), SeqRanges::from_seqs(unknown)));
            }
        }
        let (store, retention, retrier) = (&*self.ports.store, self.rules.retention, &self.retrier);
        let mut reads: Vec<Call<'_, Vec<(Seq, Place)>, StoreError>> = Vec::new();
        for (id, seqs) in &asked {
            reads.push(Box::pin(retrier.run(move || places(store, id, seqs, retention, now))));
        }
        let read = at_once::all(READS_AT_ONCE, reads).await?;
        for ((id, _), places) in asked.into_iter().zip(read) {
            self.remember_messages(&id, &places, now_ms);
            found.0.entry(id).or_default().extend(places);
        }
        Ok(found)
    }

    fn remember_messages(&mut self, id: &ConversationId, places: &[(Seq, Place)], read_at_ms: u64) {
        let read_no = self.next_read();
        for (seq, place) in places {
            if let Place::Message(message, flags) = place {
                let known = KnownMessage { message: message.clone(), flags: *flags, read_no, read_at_ms };
                self.messages.put((id.clone(), *seq), known);
            }
        }
        while self.messages.len() > MESSAGES_AT_MOST {
            self.messages.pop_lru();
        }
    }

    /// Makes sure that a roster of any age is known of each conversation: for sizes, and for switches to off,
    /// which only drop less when old.
    pub async fn meet(&mut self, ids: impl Iterator<Item = &ConversationId>) -> Result<(), StoreError> {
        let unknown: Vec<ConversationId> = ids.filter(|id| !self.rosters.contains(*id)).cloned().collect();
        self.read_rosters(unknown).await.map(drop)
    }

    /// The roster of any age, once [`Knowledge::meet`] has made sure of it.
    pub fn any_roster(&mut self, id: &ConversationId) -> Option<Arc<KnownRoster>> {
        self.rosters.get(id).cloned()
    }

    /// Rosters to count these messages with: at most 1 s old, and read after this owner first read each
    /// message, so that whoever joined before the message is in it. Those of `anew` are read in any case.
    pub async fn rosters_for(
        &mut self,
        messages: &BTreeMap<ConversationId, Vec<Seq>>,
        anew: &BTreeSet<ConversationId>,
    ) -> Result<HashMap<ConversationId, Arc<KnownRoster>>, StoreError> {
        let now_ms = self.ports.clock.elapsed_ms();
        let (mut known, mut asked) = (HashMap::new(), Vec::new());
        for (id, seqs) in messages {
            let read_no =
                |seq: &Seq| self.messages.peek(&(id.clone(), *seq)).map_or(u64::MAX, |known| known.read_no);
            let newest_read = seqs.iter().map(read_no).max().unwrap_or(0);
            let good = |known: &&Arc<KnownRoster>| {
                known.read_no > newest_read && now_ms.saturating_sub(known.read_at_ms) < ROSTER_GOOD_FOR_MS
            };
            match self.rosters.get(id).filter(good).filter(|_| !anew.contains(id)) {
                Some(roster) => {
                    known.insert(id.clone(), roster.clone());
                }
                None => asked.push(id.clone()),
            }
        }
        known.extend(self.read_rosters(asked).await?);
        Ok(known)
    }

    async fn read_rosters(
        &mut self,
        ids: Vec<ConversationId>,
    ) -> Result<Vec<(ConversationId, Arc<KnownRoster>)>, StoreError> {
        let (read_no, read_at_ms) = (self.next_read(), self.ports.clock.elapsed_ms());
        let mut reads: Vec<Call<'_, KnownRoster, StoreError>> = Vec::new();
        for id in &ids {
            reads.push(Box::pin(read_roster(
                &self.ports,
                &self.rules,
                &self.retrier,
                id,
                (read_no, read_at_ms),
            )));
        }
        let read = at_once::all(READS_AT_ONCE, reads).await?;
        let mut known = Vec::with_capacity(ids.len());
        for (id, roster) in ids.into_iter().zip(read) {
            let roster = Arc::new(roster);
            self.roster_members += roster.members;
            if let Some(old) = self.rosters.put(id.clone(), roster.clone()) {
                self.roster_members -= old.members;
            }
            known.push((id, roster));
        }
        while self.roster_members > ROSTER_MEMBERS_AT_MOST && self.rosters.len() > 1 {
            if let Some((_, old)) = self.rosters.pop_lru() {
                self.roster_members -= old.members;
            }
        }
        Ok(known)
    }

    /// Takes the read arrays of these messages out, reading those that are not known, are too old, or whose
    /// conversation is among `anew`. Give them back with [`Knowledge::put_arrays`].
    pub async fn take_arrays(
        &mut self,
        messages: &BTreeMap<ConversationId, Vec<Seq>>,
        anew: &BTreeSet<ConversationId>,
    ) -> Result<Arrays, StoreError> {
        let now_ms = self.ports.clock.elapsed_ms();
        let mut taken = Arrays::default();
        let mut asked: Vec<(&ConversationId, Vec<Seq>)> = Vec::new();
        for (id, seqs) in messages {
            let mut unknown = Vec::new();
            for seq in seqs {
                let known = self.arrays.pop(&(id.clone(), *seq));
                if let Some(known) = &known {
                    self.array_bytes -= bytes_of(&known.array);
                }
                match known {
                    Some(known)
                        if !anew.contains(id)
                            && now_ms.saturating_sub(known.read_at_ms) < ARRAY_GOOD_FOR_MS =>
                    {
                        taken.insert((id.clone(), *seq), known);
                    }
                    _ => unknown.push(*seq),
                }
            }
            if !unknown.is_empty() {
                asked.push((id, unknown));
            }
        }
        let (store, retrier) = (&*self.ports.store, &self.retrier);
        let mut reads: Vec<Call<'_, Vec<ReadArray>, StoreError>> = Vec::new();
        for (id, seqs) in &asked {
            reads.push(Box::pin(retrier.run(move || store.read_arrays(id, seqs))));
        }
        let read = at_once::all(READS_AT_ONCE, reads).await?;
        for ((id, seqs), arrays) in asked.into_iter().zip(read) {
            for (seq, array) in seqs.into_iter().zip(arrays) {
                taken.insert((id.clone(), seq), KnownArray { array, read_at_ms: now_ms });
            }
        }
        Ok(taken)
    }

    /// Remembers read arrays as they are in the store now.
    pub fn put_arrays(&mut self, arrays: Arrays) {
        for (key, known) in arrays {
            self.array_bytes += bytes_of(&known.array);
            if let Some(old) = self.arrays.put(key, known) {
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
