//! A flush: receipts into read arrays, tallies to senders, offsets let go. In this order.
//!
//! A tally is told whenever a reader who counts is in the window, known before or not: after a crash nobody
//! knows whether it was told. The last stage drops what a device has already.

use crate::knowledge::{Arrays, KnownRoster};
use crate::role::Aggregator;
use crate::window::{Touched, Window};
use readmark_domain::counting::{Message, MessageFlags, Roster, Tally};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::invariant::TallyBounds;
use readmark_domain::register::ReceiptsMode;
use readmark_domain::seq_ranges::SeqRanges;
use readmark_domain::time::TimeMs;
use readmark_domain::window::{Tier, is_told};
use readmark_events::{DecodeError, MessageRead, ReadChanged, header_name};
use readmark_log::{NewRecord, Record};
use readmark_runtime::at_once::{self, Call};
use readmark_runtime::dead_letter::{DeadLetter, Reason};
use readmark_runtime::role::RoleError;
use readmark_store::lookup::all_flags;
use readmark_store::{ReadArrayAdd, StoreError, StoreErrorKind};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Messages written and counted at a time: bounds the read arrays in memory (of 5,000 readers: 20 MB), and
/// how long a large group can keep a small one waiting.
const MESSAGES_PER_SLICE: usize = 512;
/// Conversations read at once.
const READS_AT_ONCE: usize = 16;

/// A message of a window that is being flushed.
struct Item<'a> {
    window: &'a Window,
    touched: &'a Touched,
}

impl Item<'_> {
    fn key(&self) -> (ConversationId, Seq) {
        (self.window.conversation_id.clone(), self.touched.message.seq)
    }

    /// Is its sender told? Not of readers who do not count: that would show when somebody reads who has
    /// receipts off.
    fn is_news(&self, roster: &Roster) -> bool {
        let Touched { message, readers, recount, .. } = self.touched;
        *recount || readers.iter().any(|reader| roster.counts(*reader, message))
    }
}

/// A tally to be told.
struct Told {
    message_read: MessageRead,
    /// When the oldest ack behind it was accepted.
    accepted_at: Option<TimeMs>,
    tier: Tier,
}

impl Told {
    fn into_record(self) -> Result<NewRecord, DecodeError> {
        let record = NewRecord::of(&ReadChanged::MessageRead(self.message_read))?;
        let Some(accepted_at) = self.accepted_at else { return Ok(record) };
        Ok(record
            .with_header(header_name::ACCEPTED_AT_MS, accepted_at)
            .with_header(header_name::TIER, self.tier.as_str()))
    }
}

type Flags = HashMap<ConversationId, BTreeMap<Seq, MessageFlags>>;
type NewReaders = HashMap<(ConversationId, Seq), Vec<Uid>>;

impl Aggregator {
    /// Flushes windows whose time has come.
    pub(crate) async fn flush_due(&mut self) -> Result<(), RoleError> {
        let due = self.windows.take_due(self.ports.clock.elapsed_ms());
        self.flush(due).await
    }

    /// Flushes these windows together: one write and one append for many.
    pub(crate) async fn flush(&mut self, windows: Vec<Window>) -> Result<(), RoleError> {
        match self.flush_together(&windows).await {
            Err(RoleError::Store(error)) if error.kind == StoreErrorKind::Refused => {
                self.knowledge.clear();
                self.flush_singly(&windows).await?;
            }
            done => done?,
        }
        for position in windows.iter().flat_map(Window::positions) {
            self.progress.release(position);
        }
        self.metrics.windows_open.set(i64::try_from(self.windows.len()).unwrap_or(i64::MAX));
        Ok(())
    }

    /// The store refused something for ever: find out what; its records are kept among the dead letters.
    async fn flush_singly(&mut self, windows: &[Window]) -> Result<(), RoleError> {
        for window in windows {
            match self.flush_together(std::slice::from_ref(window)).await {
                Err(RoleError::Store(error)) if error.kind == StoreErrorKind::Refused => {
                    self.knowledge.clear();
                    self.metrics
                        .count("dead", window.messages.values().map(|touched| touched.readers.len()).sum());
                    let letter = |record: &Record| DeadLetter {
                        record: record.clone(),
                        reason: Reason::new("refused", &error),
                    };
                    let letters: Vec<DeadLetter> = window.records.iter().map(letter).collect();
                    self.dead_letters.send(&letters).await?;
                }
                done => done?,
            }
        }
        Ok(())
    }

    async fn flush_together(&mut self, windows: &[Window]) -> Result<(), RoleError> {
        let of_window = |window| move |touched| Item { window, touched };
        let items: Vec<Item<'_>> =
            windows.iter().flat_map(|window| window.messages.values().map(of_window(window))).collect();
        // Roster and sets of a recount are read anew, the roster once a flush.
        let recounted = windows.iter().filter(|window| window.recount);
        let anew: BTreeSet<ConversationId> = recounted.map(|window| window.conversation_id.clone()).collect();
        let mut rosters_anew = anew.clone();
        for slice in items.chunks(MESSAGES_PER_SLICE) {
            let mut messages: BTreeMap<ConversationId, Vec<Seq>> = BTreeMap::new();
            for item in slice {
                let (id, seq) = item.key();
                messages.entry(id).or_default().push(seq);
            }
            let mut arrays = self.knowledge.take_arrays(&messages, &anew).await?;
            let new_readers = self.add(slice, &mut arrays).await?;
            let flags = self.flags(&messages).await?;
            let mut rosters = self.knowledge.rosters_for(&messages, &rosters_anew).await?;
            rosters_anew.retain(|id| !messages.contains_key(id));
            let doubted = doubted(slice, &rosters);
            if !doubted.is_empty() {
                rosters
                    .extend(self.knowledge.rosters_for(&doubted, &doubted.keys().cloned().collect()).await?);
            }
            let told = count(slice, &arrays, &new_readers, &flags, &rosters);
            self.knowledge.put_arrays(arrays);
            for Told { message_read, .. } in &told {
                let MessageRead { read, total, .. } = *message_read;
                self.shared.watch(TallyBounds { read, total }.check());
            }
            self.tell(told).await?;
        }
        windows.iter().for_each(|window| self.observe_latency(window));
        Ok(())
    }

    /// (1) Adds to the read arrays what they do not have.
    async fn add(&mut self, slice: &[Item<'_>], arrays: &mut Arrays) -> Result<NewReaders, RoleError> {
        let mut adds = Vec::new();
        let mut new_readers = NewReaders::new();
        let mut duplicates = 0;
        for item in slice {
            let Touched { message, readers, .. } = item.touched;
            let Some(known) = arrays.get_mut(&item.key()) else { continue };
            let new = known.array.add(readers.iter().copied());
            duplicates += readers.len() - new.len();
            if !new.is_empty() {
                adds.push(self.to_add(message, new.clone()));
                new_readers.insert(item.key(), new);
            }
        }
        self.metrics.count("duplicate", duplicates);
        if !adds.is_empty() {
            self.retrier.run(|| self.ports.store.add_readers(&adds)).await?;
            let receipts: usize = adds.iter().map(|add| add.readers.len()).sum();
            self.metrics.count("new", receipts);
            self.metrics.flush_receipts_total.inc_by(receipts as u64);
            self.metrics.flush_statements_total.inc_by(adds.len() as u64);
        }
        Ok(new_readers)
    }

    fn to_add(&self, message: &Message, readers: Vec<Uid>) -> ReadArrayAdd {
        ReadArrayAdd {
            conversation_id: message.conversation_id.clone(),
            seq: message.seq,
            chunks: message.chunks,
            message_expires_at: self.rules.retention.expires_at(message.sent_at),
            readers,
        }
    }

    async fn flags(&self, messages: &BTreeMap<ConversationId, Vec<Seq>>) -> Result<Flags, RoleError> {
        let (store, retrier) = (&*self.ports.store, &self.retrier);
        let mut reads: Vec<Call<'_, _, StoreError>> = Vec::new();
        for (id, seqs) in messages {
            for range in SeqRanges::from_seqs(seqs.iter().copied()).ranges().to_vec() {
                reads.push(Box::pin(async move {
                    let flags = retrier.run(|| all_flags(store, id, range.first(), range.last())).await?;
                    Ok((id, flags))
                }));
            }
        }
        let mut flags = Flags::new();
        for (id, read) in at_once::all(READS_AT_ONCE, reads).await? {
            flags.entry(id.clone()).or_default().extend(read);
        }
        Ok(flags)
    }

    /// (3) Tells the senders, and waits until that is durable.
    async fn tell(&self, told: Vec<Told>) -> Result<(), RoleError> {
        if told.is_empty() {
            return Ok(());
        }
        let count = told.len() as u64;
        let records = told.into_iter().map(Told::into_record).collect::<Result<Vec<_>, _>>()?;
        self.retrier.run(|| self.ports.log.append(records.clone())).await?;
        self.metrics.message_read_total.inc_by(count);
        Ok(())
    }

    fn observe_latency(&self, window: &Window) {
        let now = self.ports.clock.now();
        for accepted in window.records.iter().filter_map(|record| record.accepted_at()) {
            self.metrics.ack_to_store_seconds.observe(now.since_ms(accepted) as f64 / 1_000.0);
        }
    }
}

/// Messages whose readers all do not count by what is known. The roster may be a second old: before nothing
/// is told, it is read anew. What changes afterwards brings a recount of its own.
fn doubted(
    slice: &[Item<'_>],
    rosters: &HashMap<ConversationId, Arc<KnownRoster>>,
) -> BTreeMap<ConversationId, Vec<Seq>> {
    let mut doubted: BTreeMap<ConversationId, Vec<Seq>> = BTreeMap::new();
    for item in slice {
        let (id, seq) = item.key();
        if rosters.get(&id).is_some_and(|known| !item.is_news(&known.roster)) {
            doubted.entry(id).or_default().push(seq);
        }
    }
    doubted
}

/// (2) Counts, with rosters read after the messages; what is recalled or no message is told to nobody.
fn count(
    slice: &[Item<'_>],
    arrays: &Arrays,
    new_readers: &NewReaders,
    flags: &Flags,
    rosters: &HashMap<ConversationId, Arc<KnownRoster>>,
) -> Vec<Told> {
    let mut told = Vec::new();
    for item in slice {
        let (id, message) = (&item.window.conversation_id, &item.touched.message);
        let (Some(known), Some(roster)) = (arrays.get(&item.key()), rosters.get(id)) else { continue };
        if !item.is_news(&roster.roster) {
            continue;
        }
        let flags = flags.get(id).and_then(|of| of.get(&message.seq)).copied().unwrap_or_default();
        let tally = Tally::of(&roster.roster, message, flags, &known.array);
        if flags.is_void() || !is_told(message.seq, roster.head, tally.all_read()) {
            continue;
        }
        let tier = Tier::of(roster.roster.present_count());
        let named = tier.names_readers() && tally.mode == ReceiptsMode::Full;
        let new = new_readers.get(&item.key()).filter(|_| named).into_iter().flatten().copied();
        let message_read = MessageRead {
            uid: item.window.sender,
            conversation_id: id.clone(),
            seq: message.seq,
            mode: tally.mode,
            read: tally.read,
            total: tally.total,
            readers_added: new.filter(|reader| roster.roster.counts(*reader, message)).collect(),
            tally_version: tally.version,
        };
        told.push(Told { message_read, accepted_at: item.touched.accepted_at, tier });
    }
    told
}
