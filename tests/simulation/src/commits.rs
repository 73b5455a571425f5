//! RR-7, at every position that is stored: all the work before it is durable and told. The store is looked at
//! as if everything crashed now.

use crate::log::Stored;
use crate::notified;
use crate::told::now;
use crate::world::World;
use readmark_domain::counting::{Message, MessageFlags, Roster};
use readmark_domain::fact::{AckFact, ConversationFact, MarkFact, Origin, Receipts, Recount, order_of};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::invariant::OffsetAfterDurable;
use readmark_domain::register::{Latest, Presence, Switch};
use readmark_domain::time::{Order, TimeMs};
use readmark_domain::verdict::Retention;
use readmark_events::{ConversationChanged, ReadChanged, Topic, decode};
use readmark_log::{Offset, TopicPartition};
use readmark_store::{
    ConversationStore, MemberStore, MessageStore, ReadArrayStore, UserConversation, UserStore,
};

/// How long messages are kept in the simulation.
pub const RETENTION: Retention = Retention::days(90);

/// Checks a stored position of a group.
pub fn check(
    world: &World,
    group: &str,
    at: TopicPartition,
    before: Offset,
    position: Offset,
    handed_to: Offset,
) {
    let slice = world.state().log.slice(at, before.min(position), position);
    let mut lowest_pending = None;
    let mut why = String::new();
    for stored in &slice {
        if let Some(undone) = undone(world, group, stored) {
            lowest_pending = Some(stored.record.position.offset);
            why = undone;
            break;
        }
    }
    let checked = OffsetAfterDurable { position, lowest_pending, taken_to: handed_to }.check();
    if let Err(violation) = checked {
        world.violation(format!("{group} {at} {violation}: {why}"));
    }
}

/// What of a record's work is missing.
fn undone(world: &World, group: &str, stored: &Stored) -> Option<String> {
    let record = &stored.record;
    if world.state().log.told.letters.contains_key(&record.position) {
        return None;
    }
    let key = record.key.as_deref();
    let look = Look { world, no: stored.no };
    let held = match (record.position.partition.topic, group.ends_with("aggregator")) {
        (Topic::ConversationEvents, _) => match decode::<ConversationFact>(key, &record.payload) {
            Ok(fact) => look.catalog(&fact),
            Err(error) => Err(format!("no dead letter: {error}")),
        },
        (Topic::Acks, true) => match decode::<AckFact>(key, &record.payload) {
            Ok(AckFact::Receipts(fact)) => look.receipts(&fact),
            Ok(AckFact::Recount(fact)) => look.recount(&fact),
            Err(error) => Err(format!("no dead letter: {error}")),
        },
        (Topic::Acks, false) => match decode::<AckFact>(key, &record.payload) {
            Ok(AckFact::Receipts(fact)) if fact.origin == Origin::Client => look.raised(&fact),
            Ok(_) | Err(_) => Ok(()),
        },
        (Topic::Marks, _) => match decode::<MarkFact>(key, &record.payload) {
            Ok(fact) => look.mark(&fact),
            Err(error) => Err(format!("no dead letter: {error}")),
        },
        (Topic::ConversationChanged, _) => match decode::<ConversationChanged>(key, &record.payload) {
            Ok(changed) => notified::conversation_changed(world, stored.no, &changed),
            Err(error) => Err(format!("no dead letter: {error}")),
        },
        (Topic::ReadChanged, _) => match decode::<ReadChanged>(key, &record.payload) {
            Ok(changed) => notified::read_changed(world, &changed),
            Err(error) => Err(format!("no dead letter: {error}")),
        },
        (Topic::DeadLetters, _) => Ok(()),
    };
    held.err()
        .map(|why| format!("{} {}: {why}", record.position.offset, String::from_utf8_lossy(&record.payload)))
}

/// A look at the store and at what was told after a record came.
struct Look<'a> {
    world: &'a World,
    no: u64,
}

type Held = Result<(), String>;

fn require(held: bool, what: &str) -> Held {
    if held { Ok(()) } else { Err(what.to_owned()) }
}

impl Look<'_> {
    fn message(&self, id: &ConversationId, seq: Seq) -> Option<Message> {
        now(self.world.truth.messages(id, seq, seq)).and_then(|found| found.into_iter().next())
    }

    fn flags(&self, id: &ConversationId, seq: Seq) -> MessageFlags {
        let found = now(self.world.truth.flags(id, seq, seq, 1)).and_then(|found| found.into_iter().next());
        found.map(|(_, flags)| flags).unwrap_or_default()
    }

    fn head(&self, id: &ConversationId) -> (Seq, Seq) {
        let row = now(self.world.truth.conversation(id)).flatten().unwrap_or_default();
        (row.head, row.imported_head)
    }

    fn row(&self, uid: Uid, id: &ConversationId) -> UserConversation {
        now(self.world.truth.user_conversation(uid, id)).flatten().unwrap_or_default()
    }

    fn after(&self, no: Option<u64>, what: &str) -> Held {
        require(no.is_some_and(|no| no > self.no), what)
    }

    fn catalog(&self, fact: &ConversationFact) -> Held {
        let id = fact.conversation_id();
        let (head, imported_head) = self.head(id);
        let state = || self.world.state();
        match fact {
            ConversationFact::MessageSent(sent) => {
                let expired = RETENTION.is_expired(sent.occurred_at, self.world.now());
                require(expired || self.message(id, sent.seq).is_some(), "the message is not stored")?;
                require(head >= sent.seq, "the head is below")?;
                require(self.row(sent.sender_uid, id).own >= sent.seq, "own is below")?;
                let no = state().log.told.message_no.get(&(id.clone(), sent.seq)).copied();
                self.after(no, "the message is not told")
            }
            ConversationFact::MessageRecalled(recalled) => {
                require(self.flags(id, recalled.seq).recalled, "the recall is not stored")?;
                let no = state().log.told.uncounted_no.get(&(id.clone(), recalled.seq)).copied();
                self.after(no, "the recall is not told")
            }
            ConversationFact::SeqSkipped(skipped) => {
                require(self.flags(id, skipped.to).skipped, "the skip is not stored")?;
                require(head >= skipped.to, "the head is below")?;
                let no = state().log.told.uncounted_no.get(&(id.clone(), skipped.to)).copied();
                self.after(no, "the skip is not told")
            }
            ConversationFact::MemberJoined(f) => {
                self.member(id, f.uid, self.order(f.occurred_at, f.version)?, Some(f.at_seq))
            }
            ConversationFact::MemberLeft(f) => {
                self.member(id, f.uid, self.order(f.occurred_at, f.version)?, None)
            }
            ConversationFact::ConversationClosed(closed) => {
                let order = self.order(closed.occurred_at, closed.version)?;
                let wanted = Some(Latest { order, value: closed.closed });
                let known = now(self.world.truth.conversation(id)).flatten().and_then(|c| c.closed);
                require(known >= wanted, "closed is not stored")?;
                require(state().log.told.closed.get(id).copied() >= wanted, "closed is not told")
            }
            ConversationFact::ConversationPolicy(_) => {
                let no = state().log.told.policy_no.get(id).copied();
                self.after(no, "the policy is not told")
            }
            ConversationFact::HeadImported(imported) => {
                require(imported_head >= imported.head_seq, "the imported head is not stored")?;
                require(state().log.told.heads.get(id) >= Some(&imported.head_seq), "the head is not told")
            }
        }
    }

    fn order(&self, occurred_at: Option<TimeMs>, version: Option<Order>) -> Result<Order, String> {
        order_of(self.world.rules.order_source, occurred_at, version)
            .map_err(|error| format!("no dead letter: {error}"))
    }

    fn member(&self, id: &ConversationId, uid: Uid, order: Order, joined: Option<Seq>) -> Held {
        let wanted = Presence::new(order, joined.is_some());
        let rows = now(self.world.truth.members_of(id, &[uid])).unwrap_or_default();
        let row = rows.into_iter().next().flatten().unwrap_or_default();
        require(row.presence >= Some(wanted), "the presence is not stored")?;
        require(row.joined >= joined.unwrap_or_default(), "joined is not stored")?;
        let no = self.world.state().log.told.roster.get(&(id.clone(), uid)).map(|(_, _, no)| *no);
        self.after(no, "the presence is not told")
    }

    fn receipts(&self, fact: &Receipts) -> Held {
        let id = &fact.conversation_id;
        let switches = now(self.world.truth.user_switches(fact.reader_uid)).unwrap_or_default();
        for seq in fact.seqs.iter() {
            match self.message(id, seq) {
                Some(message) if message.sender_uid != fact.sender_uid => {
                    return Err("no dead letter".to_owned());
                }
                Some(message) => {
                    let off = switches.newest_off().is_some_and(|off| message.sent_at < off);
                    // At or below an imported head it was taken as expired when it was not there yet.
                    let imported = seq <= self.head(id).1;
                    if off || imported || self.flags(id, seq).is_void() {
                        continue;
                    }
                    let arrays = now(self.world.truth.read_arrays(id, &[seq])).unwrap_or_default();
                    let stored = arrays.first().is_some_and(|array| array.contains(fact.reader_uid));
                    require(stored, &format!("the receipt of {seq} is not stored"))?;
                    if self.must_be_told(fact.reader_uid, &message) {
                        self.told(id, seq)?;
                    }
                }
                None => require(self.is_gone(id, seq), &format!("{seq} is not there, and no dead letter"))?,
            }
        }
        Ok(())
    }

    /// A reader who does not count is no news; one who counts only by a change that came after the record is
    /// told by that change's recount.
    fn must_be_told(&self, reader: Uid, message: &Message) -> bool {
        let id = &message.conversation_id;
        let changed_no = self.world.state().log.told.who_counts_no.get(id).copied();
        let members = now(self.world.truth.members(id)).unwrap_or_default();
        let policy = now(self.world.truth.conversation(id)).flatten().unwrap_or_default().policy;
        let counts =
            Roster::new(&members, &policy, self.world.rules.default_receipts).counts(reader, message);
        counts && changed_no.is_none_or(|changed| changed <= self.no)
    }

    fn told(&self, id: &ConversationId, seq: Seq) -> Held {
        let no = self.world.state().log.told.message_read_no.get(&(id.clone(), seq)).copied();
        self.after(no, &format!("the tally of {seq} is not told"))
    }

    /// Gone, or never to come: skipped, expired by now, from before an import, or in a bucket of nothing but expired messages.
    fn is_gone(&self, id: &ConversationId, seq: Seq) -> bool {
        let (head, imported_head) = self.head(id);
        let bucket = seq.bucket();
        let buckets = now(self.world.truth.buckets(id, bucket, bucket, 1)).unwrap_or_default();
        let of_old =
            buckets.first().is_some_and(|b| RETENTION.is_expired(b.newest_sent_at, self.world.now()));
        let sent_at = self.world.sent.get(&(id.clone(), seq));
        let expired = sent_at.is_some_and(|at| RETENTION.is_expired(*at, self.world.now()));
        self.flags(id, seq).skipped || seq <= imported_head || expired || (of_old && seq <= head)
    }

    fn recount(&self, fact: &Recount) -> Held {
        let id = &fact.conversation_id;
        for seq in fact.seqs.iter() {
            if self.message(id, seq).is_some() && !self.flags(id, seq).is_void() {
                self.told(id, seq)?;
            }
        }
        Ok(())
    }

    fn raised(&self, fact: &Receipts) -> Held {
        let id = &fact.conversation_id;
        let messages: Vec<Message> = fact.seqs.iter().filter_map(|seq| self.message(id, seq)).collect();
        if messages.iter().any(|message| message.sender_uid != fact.sender_uid) {
            return Ok(());
        }
        let highest = messages.iter().map(|message| message.seq).max().unwrap_or_default();
        self.marked(fact.reader_uid, id, highest)
    }

    fn marked(&self, uid: Uid, id: &ConversationId, seq: Seq) -> Held {
        require(self.row(uid, id).read.seq >= seq, "the watermark is below")?;
        let told =
            self.world.state().log.told.marks.get(&(uid, id.clone())).map(|m| m.read).unwrap_or_default();
        require(told >= seq, "the watermark is not told")
    }

    fn mark(&self, fact: &MarkFact) -> Held {
        match fact {
            MarkFact::ReadUpTo(f) => {
                let row = self.row(f.uid, &f.conversation_id);
                require(row.claimed >= f.up_to_seq, "claimed is below")?;
                require(row.receipted.max(row.joined) >= f.up_to_seq, "it is not expanded")?;
                self.marked(f.uid, &f.conversation_id, f.up_to_seq)
            }
            MarkFact::Cleared(f) => {
                require(self.row(f.uid, &f.conversation_id).cleared >= f.up_to_seq, "cleared is below")
            }
            MarkFact::MarkedUnread(f) => {
                let wanted = Some(Latest { order: f.occurred_at.as_order(), value: f.value });
                require(self.row(f.uid, &f.conversation_id).marked_unread >= wanted, "the flag is not stored")
            }
            MarkFact::Muted(f) => {
                let wanted = Some(Latest { order: f.occurred_at.as_order(), value: f.value });
                require(self.row(f.uid, &f.conversation_id).muted >= wanted, "the flag is not stored")
            }
            MarkFact::WatermarkImported(f) => {
                let row = self.row(f.uid, &f.conversation_id);
                require(
                    row.imported >= f.read_seq && row.receipted >= f.read_seq,
                    "the import is not stored",
                )?;
                self.marked(f.uid, &f.conversation_id, f.read_seq)
            }
            MarkFact::UserSettings(f) => self.switched(f.uid, f.switch()),
            MarkFact::UserErased(f) => self.switched(f.uid, f.switch()),
        }
    }

    fn switched(&self, uid: Uid, switch: Switch<bool>) -> Held {
        let switches = now(self.world.truth.user_switches(uid)).unwrap_or_default();
        require(switches.iter().any(|known| *known == switch), "the switch is not stored")
    }
}
