//! What readers say.

use super::{Conversation, Generator, What, given, seq, uid};
use readmark_domain::fact::{AckFact, Cleared, FlagSet, MarkFact, Origin, ReadUpTo, Receipts};
use readmark_domain::id::{ConversationId, Endpoint};
use readmark_domain::seq_ranges::SeqRanges;
use std::collections::BTreeSet;

impl Generator<'_> {
    pub(super) fn endpoint(&mut self) -> Option<Endpoint> {
        let name = self.rng.pick(&["phone", "pc", ""]);
        Endpoint::new(name).ok()
    }

    pub(super) fn reads(&mut self, conversation: &Conversation) {
        let id = &conversation.id;
        for _ in 0..self.rng.within(1, 5) {
            let up_to = self.rng.within(conversation.base + 1, conversation.top);
            let up_to = if self.rng.chance(4) { conversation.top + 50 } else { up_to };
            let fact = MarkFact::ReadUpTo(ReadUpTo {
                uid: uid(self.rng.within(1, self.users)),
                conversation_id: id.clone(),
                up_to_seq: seq(up_to),
                endpoint: self.endpoint(),
                occurred_at: self.time(),
            });
            self.put_mark(&fact);
        }
        for _ in 0..self.rng.within(1, 8) {
            self.ack(conversation);
        }
        if self.rng.chance(30) {
            let fact = MarkFact::Cleared(Cleared {
                uid: uid(self.rng.within(1, self.users)),
                conversation_id: id.clone(),
                up_to_seq: seq(self.rng.within(conversation.base + 1, conversation.top)),
                endpoint: self.endpoint(),
                occurred_at: self.time(),
            });
            self.put_mark(&fact);
        }
        if self.rng.chance(30) {
            let flag = FlagSet {
                uid: uid(self.rng.within(1, self.users)),
                conversation_id: id.clone(),
                value: self.rng.chance(60),
                endpoint: self.endpoint(),
                occurred_at: self.time(),
            };
            let fact = if self.rng.chance(50) { MarkFact::MarkedUnread(flag) } else { MarkFact::Muted(flag) };
            self.put_mark(&fact);
        }
    }

    fn ack(&mut self, conversation: &Conversation) {
        let senders: Vec<(u64, u64)> = conversation.senders.iter().map(|(n, sender)| (*n, *sender)).collect();
        if senders.is_empty() {
            return;
        }
        let (first, sender) = self.rng.pick(&senders);
        let reader = self.rng.within(1, self.users);
        if reader == sender {
            return;
        }
        let mut seqs = BTreeSet::from([first]);
        for (n, other) in &senders {
            if *other == sender && self.rng.chance(25) {
                seqs.insert(*n);
            }
        }
        if self.rng.chance(5) {
            seqs.extend(conversation.skipped.iter().find(|n| !conversation.senders.contains_key(n)));
        }
        if self.rng.chance(3) {
            seqs.insert(conversation.top + 50);
        }
        let fact = self.receipts(&conversation.id, sender, reader, &seqs);
        self.put(given(&fact, What::Ack));
    }

    pub(super) fn receipts(
        &mut self,
        id: &ConversationId,
        sender: u64,
        reader: u64,
        seqs: &BTreeSet<u64>,
    ) -> AckFact {
        AckFact::Receipts(Receipts {
            sender_uid: uid(sender),
            reader_uid: uid(reader),
            conversation_id: id.clone(),
            seqs: SeqRanges::from_seqs(seqs.iter().map(|n| seq(*n))),
            endpoint: self.endpoint(),
            origin: Origin::Client,
            occurred_at: self.time(),
        })
    }
}
