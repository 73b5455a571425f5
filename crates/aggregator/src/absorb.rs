//! Records taken over: decoded, judged, and put into windows, parked or among the dead letters.

use crate::knowledge::{KnownRoster, Places};
use crate::parked::ParkedReceipts;
use crate::role::Aggregator;
use crate::window::Share;
use readmark_domain::fact::{AckFact, Receipts, Recount};
use readmark_domain::id::ConversationId;
use readmark_domain::seq_ranges::{SeqRange, SeqRanges};
use readmark_domain::verdict::judge;
use readmark_domain::window::Tier;
use readmark_events::decode;
use readmark_log::Record;
use readmark_runtime::dead_letter::{DeadLetter, Reason};
use readmark_runtime::parking::Parked;
use readmark_runtime::role::RoleError;
use std::collections::BTreeMap;

/// Seqs judged before windows are looked at again: bounds what a batch of large records can bring in.
const SEQS_PER_SLICE: u64 = 50_000;

/// What became of a record of receipts.
enum Judged {
    /// What is there is in a window, the rest needs nothing.
    Done,
    /// These seqs are not there yet.
    Missing(Receipts),
    /// Not a receipt that can be used.
    Dead(Reason),
}

fn count(receipts: &Receipts) -> usize {
    usize::try_from(receipts.seqs.count()).unwrap_or(usize::MAX)
}

/// Everything that these facts name, by conversation.
fn gather<'a>(
    named: impl Iterator<Item = (&'a ConversationId, &'a SeqRanges)>,
) -> BTreeMap<ConversationId, SeqRanges> {
    let mut ranges: BTreeMap<ConversationId, Vec<SeqRange>> = BTreeMap::new();
    for (id, seqs) in named {
        ranges.entry(id.clone()).or_default().extend(seqs.ranges());
    }
    ranges.into_iter().map(|(id, ranges)| (id, SeqRanges::from_ranges(ranges))).collect()
}

impl Aggregator {
    /// Takes records over; their offsets are held until they are done with.
    pub(crate) async fn take_in(&mut self, records: Vec<Record>) -> Result<(), RoleError> {
        let mut letters = Vec::new();
        let mut slice = Vec::new();
        let mut seqs = 0;
        for record in records {
            self.progress.hold(record.position);
            match decode::<AckFact>(record.key.as_deref(), &record.payload) {
                Ok(fact) => {
                    seqs += named(&fact).1.count();
                    slice.push((record, fact));
                }
                Err(error) => letters.push(DeadLetter { record, reason: error.into() }),
            }
            if seqs >= SEQS_PER_SLICE {
                self.take_slice(std::mem::take(&mut slice), &mut letters).await?;
                self.flush_due().await?;
                seqs = 0;
            }
        }
        self.take_slice(slice, &mut letters).await?;
        Ok(self.dead_letters.bury(&letters, &mut self.progress).await?)
    }

    async fn take_slice(
        &mut self,
        slice: Vec<(Record, AckFact)>,
        letters: &mut Vec<DeadLetter>,
    ) -> Result<(), RoleError> {
        let places = self.look_up(slice.iter().map(|(_, fact)| named(fact))).await?;
        for (record, fact) in slice {
            match fact {
                AckFact::Receipts(receipts) => self.take_receipts(record, receipts, &places, letters),
                AckFact::Recount(recount) => self.take_recount(record, recount, &places, letters),
            }
        }
        Ok(())
    }

    /// What is at the seqs that these facts name; the rosters of their conversations are known afterwards.
    async fn look_up<'a>(
        &mut self,
        named: impl Iterator<Item = (&'a ConversationId, &'a SeqRanges)>,
    ) -> Result<Places, RoleError> {
        let wanted = gather(named);
        let places = self.knowledge.places(&wanted).await?;
        self.knowledge.meet(wanted.keys()).await?;
        Ok(places)
    }

    fn take_receipts(
        &mut self,
        record: Record,
        receipts: Receipts,
        places: &Places,
        letters: &mut Vec<DeadLetter>,
    ) {
        let now_ms = self.ports.clock.elapsed_ms();
        match self.judge_receipts(&record, receipts, places) {
            Judged::Done => self.progress.release(record.position),
            Judged::Dead(reason) => letters.push(DeadLetter { record, reason }),
            Judged::Missing(rest) => {
                self.metrics.count("parked", count(&rest));
                let (position, bytes) = (record.position, record.payload.len());
                let item = ParkedReceipts { record, rest };
                self.parked.park(Parked { position, since_ms: now_ms, bytes, item }, now_ms);
            }
        }
    }

    /// Puts what is there into a window, which then holds the record's offset too.
    fn judge_receipts(&mut self, record: &Record, mut receipts: Receipts, places: &Places) -> Judged {
        let id = receipts.conversation_id.clone();
        let known = self.knowledge.any_roster(&id);
        let newest_off = known.as_ref().and_then(|k| k.newest_off.get(&receipts.reader_uid).copied());
        let verdict = match judge(receipts.sender_uid, places.of(&id, &receipts.seqs), newest_off) {
            Ok(verdict) => verdict,
            Err(mismatch) => {
                self.metrics.count("dead", count(&receipts));
                return Judged::Dead(Reason::new("sender-mismatch", mismatch));
            }
        };
        self.metrics.count("ignored", verdict.ignored.len());
        if !verdict.store.is_empty() {
            self.open(
                &id,
                known.as_deref(),
                Share {
                    record: record.clone(),
                    sender: receipts.sender_uid,
                    messages: verdict.store,
                    reader: Some(receipts.reader_uid),
                },
            );
        }
        receipts.seqs = verdict.parked;
        if receipts.seqs.is_empty() { Judged::Done } else { Judged::Missing(receipts) }
    }

    fn take_recount(
        &mut self,
        record: Record,
        recount: Recount,
        places: &Places,
        letters: &mut Vec<DeadLetter>,
    ) {
        let (position, sender) = (record.position, recount.sender_uid);
        match judge(sender, places.of(&recount.conversation_id, &recount.seqs), None) {
            Ok(verdict) => {
                if !verdict.store.is_empty() {
                    let share = Share { record, sender, messages: verdict.store, reader: None };
                    let known = self.knowledge.any_roster(&recount.conversation_id);
                    self.open(&recount.conversation_id, known.as_deref(), share);
                }
                self.progress.release(position);
            }
            Err(mismatch) => {
                letters.push(DeadLetter { record, reason: Reason::new("sender-mismatch", mismatch) });
            }
        }
    }

    fn open(&mut self, id: &ConversationId, known: Option<&KnownRoster>, share: Share) {
        self.progress.hold(share.record.position);
        let members = known.map_or(0, |known| known.roster.present_count());
        self.windows.add(id, Tier::of(members), share, self.ports.clock.elapsed_ms());
    }

    /// Looks again at what is parked; what has waited too long is a dead letter.
    pub(crate) async fn look_at_parked(&mut self) -> Result<(), RoleError> {
        let now_ms = self.ports.clock.elapsed_ms();
        let due = self.parked.take_due(now_ms);
        if due.is_empty() {
            return Ok(());
        }
        let named = due.iter().map(|parked| (&parked.item.rest.conversation_id, &parked.item.rest.seqs));
        let places = self.look_up(named).await?;
        let mut letters = Vec::new();
        for parked in due {
            let overdue = parked.is_overdue(now_ms);
            let Parked { position, since_ms, bytes, item: ParkedReceipts { record, rest } } = parked;
            match self.judge_receipts(&record, rest, &places) {
                Judged::Done => self.progress.release(position),
                Judged::Dead(reason) => letters.push(DeadLetter { record, reason }),
                Judged::Missing(rest) if !overdue => {
                    let item = ParkedReceipts { record, rest };
                    self.parked.put_back(Parked { position, since_ms, bytes, item });
                }
                Judged::Missing(rest) => {
                    self.metrics.count("dead", count(&rest));
                    let missing = rest.seqs.first().map(|seq| seq.to_string()).unwrap_or_default();
                    let detail = format!("message {missing} of {} has not come", rest.conversation_id);
                    letters.push(DeadLetter { record, reason: Reason::new("message-missing", detail) });
                }
            }
        }
        Ok(self.dead_letters.bury(&letters, &mut self.progress).await?)
    }
}

fn named(fact: &AckFact) -> (&ConversationId, &SeqRanges) {
    match fact {
        AckFact::Receipts(receipts) => (&receipts.conversation_id, &receipts.seqs),
        AckFact::Recount(recount) => (&recount.conversation_id, &recount.seqs),
    }
}
