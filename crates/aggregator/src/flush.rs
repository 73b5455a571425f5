//! A flush: receipts into read arrays, tallies to senders, offsets let go. In this order.

use crate::role::Aggregator;
use crate::window::{Touched, Window};
use readmark_domain::counting::{Message, MessageFlags, Tally};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::read_array::ReadArray;
use readmark_domain::register::ReceiptsMode;
use readmark_domain::seq_ranges::SeqRanges;
use readmark_domain::window::{Tier, is_told};
use readmark_events::{MessageRead, ReadChanged, header_name};
use readmark_log::NewRecord;
use readmark_runtime::dead_letter::{DeadLetter, Reason};
use readmark_runtime::role::RoleError;
use readmark_store::lookup::all_flags;
use readmark_store::{ReadArrayAdd, StoreErrorKind};
use std::collections::BTreeMap;

/// Messages counted at a time: bounds the read arrays in memory (of 5,000 readers: 20 MB).
const MESSAGES_PER_SLICE: usize = 512;
/// Records appended in one call.
const RECORDS_PER_APPEND: usize = 1_000;

/// What a part of a window added.
struct Added {
    arrays: BTreeMap<Seq, (ReadArray, u64)>,
    new_readers: BTreeMap<Seq, Vec<Uid>>,
}

impl Aggregator {
    /// Flushes windows whose time has come.
    pub(crate) async fn flush_due(&mut self) -> Result<(), RoleError> {
        let due = self.windows.take_due(self.ports.clock.elapsed_ms());
        self.flush(due).await
    }

    /// Flushes these windows. Windows of small groups come first by their age, and each slice of a large one
    /// is a fraction of a second.
    pub(crate) async fn flush(&mut self, windows: Vec<Window>) -> Result<(), RoleError> {
        for window in windows {
            match self.flush_window(&window).await {
                Err(RoleError::Store(error)) if error.kind == StoreErrorKind::Refused => {
                    self.knowledge.clear();
                    self.refuse(&window, &error).await?;
                }
                done => done?,
            }
            for position in window.positions() {
                self.progress.release(position);
            }
            self.metrics.windows_open.set(i64::try_from(self.windows.len()).unwrap_or(i64::MAX));
        }
        Ok(())
    }

    async fn flush_window(&mut self, window: &Window) -> Result<(), RoleError> {
        let touched: Vec<&Touched> = window.messages.values().collect();
        for (at, slice) in touched.chunks(MESSAGES_PER_SLICE).enumerate() {
            let added = self.add(window, slice).await?;
            let told = self.count(window, slice, &added, at == 0).await?;
            self.knowledge.put_arrays(&window.conversation_id, added.arrays);
            self.tell(told).await?;
        }
        self.observe_latency(window);
        Ok(())
    }

    /// The store refuses it for ever: the records are kept among the dead letters.
    async fn refuse(&mut self, window: &Window, error: &readmark_store::StoreError) -> Result<(), RoleError> {
        let to_letter =
            |record: &readmark_log::Record| DeadLetter { record: record.clone(), reason: Reason::new("refused", error) };
        let letters: Vec<DeadLetter> = window.records.iter().map(to_letter).collect();
        self.metrics.count("dead", window.messages.values().map(|touched| touched.readers.len()).sum());
        Ok(self.dead_letters.send(&letters).await?)
    }

    /// (1) Adds to the read arrays what they do not have.
    async fn add(&mut self, window: &Window, slice: &[&Touched]) -> Result<Added, RoleError> {
        let id = &window.conversation_id;
        let seqs: Vec<Seq> = slice.iter().map(|touched| touched.message.seq).collect();
        let mut arrays = self.knowledge.take_arrays(id, &seqs, window.recount).await?;
        let mut adds = Vec::new();
        let mut new_readers = BTreeMap::new();
        for Touched { message, readers } in slice {
            let Some((array, _)) = arrays.get_mut(&message.seq) else { continue };
            let new = array.add(readers.iter().copied());
            self.metrics.count("duplicate", readers.len() - new.len());
            if !new.is_empty() {
                adds.push(self.to_add(message, new.clone()));
                new_readers.insert(message.seq, new);
            }
        }
        if !adds.is_empty() {
            self.retrier.run(|| self.ports.store.add_readers(&adds)).await?;
            let receipts: usize = adds.iter().map(|add| add.readers.len()).sum();
            self.metrics.count("new", receipts);
            self.metrics.flush_receipts_total.inc_by(receipts as u64);
            self.metrics.flush_statements_total.inc_by(adds.len() as u64);
        }
        Ok(Added { arrays, new_readers })
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

    /// (2) Counts, with a roster read after each message; recalled messages are told to nobody.
    async fn count(
        &mut self,
        window: &Window,
        slice: &[&Touched],
        added: &Added,
        first_slice: bool,
    ) -> Result<Vec<ReadChanged>, RoleError> {
        let id = &window.conversation_id;
        let seqs: Vec<Seq> = slice.iter().map(|touched| touched.message.seq).collect();
        let flags = self.flags(id, &seqs).await?;
        let known = self.knowledge.roster_for(id, &seqs, window.recount && first_slice).await?;
        let names = Tier::of(known.roster.present_count()).names_readers();
        let mut told = Vec::new();
        for Touched { message, .. } in slice {
            let Some((array, _)) = added.arrays.get(&message.seq) else { continue };
            let flags = flags.get(&message.seq).copied().unwrap_or_default();
            let tally = Tally::of(&known.roster, message, flags, array);
            if flags.is_void() || !is_told(message.seq, known.head, tally.all_read()) {
                continue;
            }
            let named = names && tally.mode == ReceiptsMode::Full;
            let new = added.new_readers.get(&message.seq).filter(|_| named);
            let counted = |new: &Vec<Uid>| new.iter().copied().filter(|r| known.roster.counts(*r, message)).collect();
            told.push(ReadChanged::MessageRead(MessageRead {
                uid: window.sender,
                conversation_id: id.clone(),
                seq: message.seq,
                mode: tally.mode,
                read: tally.read,
                total: tally.total,
                readers_added: new.map(counted).unwrap_or_default(),
                tally_version: tally.version,
            }));
        }
        Ok(told)
    }

    async fn flags(
        &self,
        id: &ConversationId,
        seqs: &[Seq],
    ) -> Result<BTreeMap<Seq, MessageFlags>, RoleError> {
        let store = &*self.ports.store;
        let mut flags = BTreeMap::new();
        for range in SeqRanges::from_seqs(seqs.iter().copied()).ranges() {
            flags.extend(self.retrier.run(|| all_flags(store, id, range.first(), range.last())).await?);
        }
        Ok(flags)
    }

    /// (3) Tells the sender, and waits until that is durable.
    async fn tell(&self, told: Vec<ReadChanged>) -> Result<(), RoleError> {
        for page in told.chunks(RECORDS_PER_APPEND) {
            let records = page.iter().map(NewRecord::of).collect::<Result<Vec<_>, _>>()?;
            self.retrier.run(|| self.ports.log.append(records.clone())).await?;
            self.metrics.message_read_total.inc_by(page.len() as u64);
        }
        Ok(())
    }

    fn observe_latency(&self, window: &Window) {
        let now = self.ports.clock.now().get();
        for record in &window.records {
            let accepted = record.header(header_name::ACCEPTED_AT_MS).and_then(|text| text.parse::<u64>().ok());
            if let (Some(accepted), None) = (accepted, record.header(header_name::ORIGIN)) {
                let seconds = now.saturating_sub(accepted) as f64 / 1_000.0;
                self.metrics.ack_to_store_seconds.observe(seconds);
            }
        }
    }
}
