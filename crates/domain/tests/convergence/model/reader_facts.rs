//! What readers say.

use super::{Effects, State, Stored};
use crate::case::Fact;
use readmark_domain::fact::{AckFact, Cleared, MarkFact, Origin, ReadUpTo, Receipts, WatermarkImported};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::register::{Latest, ReadMark, Switch};
use readmark_domain::seq_ranges::SeqRanges;
use readmark_domain::time::TimeMs;
use readmark_domain::verdict::judge;
use std::collections::BTreeMap;

impl State {
    pub(super) fn take_receipts(&mut self, fact: &Receipts, effects: &mut Effects) {
        let conversation = self.conversation(&fact.conversation_id);
        let places: Vec<_> = fact.seqs.iter().map(|seq| (seq, conversation.place(seq))).collect();
        let Ok(verdict) = judge(fact.sender_uid, places, self.newest_off(fact.reader_uid)) else {
            self.bury(Fact::Acks(AckFact::Receipts(fact.clone())));
            return;
        };
        let seqs: Vec<Seq> = verdict.store.iter().map(|message| message.seq).collect();
        self.add(&fact.conversation_id, fact.reader_uid, seqs, effects);
        if fact.origin == Origin::Client && verdict.raises_to > Seq::ZERO {
            self.raise_read(
                &fact.conversation_id,
                fact.reader_uid,
                ReadMark {
                    seq: verdict.raises_to,
                    read_at: fact.occurred_at,
                    endpoint: fact.endpoint.clone(),
                },
            );
        }
        for seq in verdict.parked.iter() {
            let waits = Receipts { seqs: SeqRanges::from_seqs([seq]), ..fact.clone() };
            self.park(Fact::Acks(AckFact::Receipts(waits)));
        }
    }

    /// Receipts that the product makes itself, judged as all others.
    pub(super) fn add_receipts(
        &mut self,
        id: &ConversationId,
        sender: Uid,
        reader: Uid,
        seqs: impl IntoIterator<Item = Seq>,
        effects: &mut Effects,
    ) {
        let conversation = self.conversation(id);
        let places: Vec<_> = seqs.into_iter().map(|seq| (seq, conversation.place(seq))).collect();
        let verdict = judge(sender, places, self.newest_off(reader)).expect("the sender was looked up");
        self.add(id, reader, verdict.store.iter().map(|message| message.seq).collect(), effects);
    }

    fn add(&mut self, id: &ConversationId, reader: Uid, seqs: Vec<Seq>, effects: &mut Effects) {
        for seq in seqs {
            self.conversation(id).seqs.entry(seq).or_default().readers.add([reader]);
            effects.stored.push(Stored { conversation_id: id.clone(), seq, reader });
        }
    }

    fn raise_read(&mut self, id: &ConversationId, uid: Uid, mark: ReadMark) {
        let read = &mut self.conversation(id).user(uid).read;
        *read = std::mem::take(read).merge(mark);
    }

    pub(super) fn take_mark(&mut self, fact: &MarkFact, effects: &mut Effects) {
        match fact {
            MarkFact::ReadUpTo(mark) => self.take_read_up_to(mark, effects),
            MarkFact::Cleared(clear) => self.take_clear(clear),
            MarkFact::MarkedUnread(flag) => {
                let new = Latest { order: flag.occurred_at.as_order(), value: flag.value };
                let user = self.conversation(&flag.conversation_id).user(flag.uid);
                user.marked_unread = user.marked_unread.max(Some(new));
            }
            MarkFact::Muted(flag) => {
                let new = Latest { order: flag.occurred_at.as_order(), value: flag.value };
                let user = self.conversation(&flag.conversation_id).user(flag.uid);
                user.muted = user.muted.max(Some(new));
            }
            MarkFact::UserSettings(settings) => self.take_switch(settings.uid, settings.switch()),
            MarkFact::UserErased(erased) => self.take_switch(erased.uid, erased.switch()),
            MarkFact::WatermarkImported(import) => self.take_import(import),
        }
    }

    fn take_read_up_to(&mut self, fact: &ReadUpTo, effects: &mut Effects) {
        let (id, reader, to) = (&fact.conversation_id, fact.uid, fact.up_to_seq);
        if to > self.conversation(id).head {
            self.park(Fact::Marks(MarkFact::ReadUpTo(fact.clone())));
            return;
        }
        let mark = ReadMark { seq: to, read_at: fact.occurred_at, endpoint: fact.endpoint.clone() };
        self.raise_read(id, reader, mark);
        self.take_mark_away(id, reader, fact.occurred_at);
        let member = self.member(id, reader);
        member.claimed = member.claimed.max(to);
        let joined = member.joined;
        let conversation = self.conversation(id);
        let above = joined.max(conversation.user(reader).receipted);
        let mut by_sender: BTreeMap<Uid, Vec<Seq>> = BTreeMap::new();
        let messages = conversation.seqs.values().filter_map(|sent| sent.message.as_ref());
        for message in messages.filter(|m| above < m.seq && m.seq <= to && m.sender_uid != reader) {
            by_sender.entry(message.sender_uid).or_default().push(message.seq);
        }
        for (sender, seqs) in by_sender {
            self.add_receipts(id, sender, reader, seqs, effects);
        }
        let receipted = &mut self.conversation(id).user(reader).receipted;
        *receipted = to.max(*receipted);
    }

    fn take_clear(&mut self, fact: &Cleared) {
        let conversation = self.conversation(&fact.conversation_id);
        if fact.up_to_seq > conversation.head {
            self.park(Fact::Marks(MarkFact::Cleared(fact.clone())));
            return;
        }
        let cleared = &mut conversation.user(fact.uid).cleared;
        *cleared = fact.up_to_seq.max(*cleared);
        self.take_mark_away(&fact.conversation_id, fact.uid, fact.occurred_at);
    }

    /// A read or a clear takes "marked unread" away, in its order.
    fn take_mark_away(&mut self, id: &ConversationId, uid: Uid, at: TimeMs) {
        let user = self.conversation(id).user(uid);
        user.marked_unread = user.marked_unread.max(Some(Latest { order: at.as_order(), value: false }));
    }

    fn take_switch(&mut self, uid: Uid, switch: Switch<bool>) {
        self.settings.entry(uid).or_default().add(switch);
        for conversation in self.conversations.values_mut() {
            if let Some(member) = conversation.members.get_mut(&uid) {
                member.switches.add(switch);
            }
        }
    }

    fn take_import(&mut self, fact: &WatermarkImported) {
        let (id, uid, seq) = (&fact.conversation_id, fact.uid, fact.read_seq);
        self.raise_read(id, uid, ReadMark { seq, read_at: fact.occurred_at, endpoint: None });
        let member = self.member(id, uid);
        member.imported = member.imported.max(seq);
        let receipted = &mut self.conversation(id).user(uid).receipted;
        *receipted = seq.max(*receipted);
    }
}
