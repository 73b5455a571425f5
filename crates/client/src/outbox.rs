use readmark_domain::id::{ConversationId, Seq, Uid};
use std::collections::BTreeMap;

/// How long acks and marks of one conversation are merged before they are sent, in milliseconds.
pub const MERGE_MS: u64 = 200;

/// Messages in one ack, as the server takes.
pub const ACKED_AT_ONCE: usize = 1_000;

/// Acks that wait at most; older ones of the same conversation give way, since a mark covers what was read.
pub const WAITING_ACKS_MAX: usize = 100_000;

/// Something to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parcel {
    /// The user has read up to here.
    Mark(ConversationId, Seq),
    /// The user has read these messages; the sender where it is known.
    Acks(ConversationId, Vec<(Seq, Option<Uid>)>),
}

impl Parcel {
    /// Whose messages it names.
    #[must_use]
    pub const fn conversation_id(&self) -> &ConversationId {
        match self {
            Self::Mark(id, _) | Self::Acks(id, _) => id,
        }
    }
}

/// What waits to be sent, merged per conversation: the greatest mark, the union of acks. What failed is put back
/// and merges again, so nothing is lost and nothing is sent twice at once.
#[derive(Debug, Clone, Default)]
pub struct Outbox {
    waiting: BTreeMap<ConversationId, Waiting>,
    acks: usize,
}

#[derive(Debug, Clone)]
struct Waiting {
    mark: Option<Seq>,
    acks: BTreeMap<Seq, Option<Uid>>,
    due_ms: u64,
}

impl Outbox {
    /// Is nothing waiting?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A mark; only the greatest is kept.
    pub fn mark(&mut self, id: ConversationId, seq: Seq, now_ms: u64) {
        self.mark_by(id, seq, now_ms.saturating_add(MERGE_MS));
    }

    fn mark_by(&mut self, id: ConversationId, seq: Seq, due_ms: u64) {
        let waiting = self.of(id, due_ms);
        waiting.mark = waiting.mark.max(Some(seq));
    }

    /// An ack. At the bound the oldest of the conversation gives way.
    pub fn ack(&mut self, id: ConversationId, seq: Seq, sender: Option<Uid>, now_ms: u64) {
        self.ack_by(id, seq, sender, now_ms.saturating_add(MERGE_MS));
    }

    fn ack_by(&mut self, id: ConversationId, seq: Seq, sender: Option<Uid>, due_ms: u64) {
        let is_full = self.acks >= WAITING_ACKS_MAX;
        let acks = &mut self.of(id, due_ms).acks;
        let before = acks.len();
        let known = acks.entry(seq).or_insert(sender);
        *known = known.or(sender);
        if acks.len() > before && is_full {
            acks.pop_first();
        } else if acks.len() > before {
            self.acks += 1;
        }
    }

    /// What failed and may be sent again by then, together with what was added for its conversation meanwhile, if
    /// that is due before.
    pub fn put_back(&mut self, parcel: Parcel, due_ms: u64) {
        match parcel {
            Parcel::Mark(id, seq) => self.mark_by(id, seq, due_ms),
            Parcel::Acks(id, acks) => {
                for (seq, sender) in acks {
                    self.ack_by(id.clone(), seq, sender, due_ms);
                }
            }
        }
    }

    /// When something is to be sent next.
    #[must_use]
    pub fn due_ms(&self) -> Option<u64> {
        self.waiting.values().map(|waiting| waiting.due_ms).min()
    }

    /// What is to be sent by now.
    pub fn take_due(&mut self, now_ms: u64) -> Vec<Parcel> {
        let due: Vec<ConversationId> =
            self.waiting.iter().filter(|(_, one)| one.due_ms <= now_ms).map(|(id, _)| id.clone()).collect();
        let mut parcels = Vec::new();
        for id in due {
            let Some(waiting) = self.waiting.remove(&id) else { continue };
            let acks: Vec<_> = waiting.acks.into_iter().collect();
            self.acks = self.acks.saturating_sub(acks.len());
            parcels.extend(acks.chunks(ACKED_AT_ONCE).map(|some| Parcel::Acks(id.clone(), some.to_vec())));
            parcels.extend(waiting.mark.map(|seq| Parcel::Mark(id.clone(), seq)));
        }
        parcels
    }

    fn of(&mut self, id: ConversationId, due_ms: u64) -> &mut Waiting {
        let waiting = self.waiting.entry(id).or_insert(Waiting { mark: None, acks: BTreeMap::new(), due_ms });
        waiting.due_ms = waiting.due_ms.min(due_ms);
        waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> ConversationId {
        text.parse().expect("an id")
    }

    fn seq(n: u64) -> Seq {
        Seq::new(n).expect("a seq")
    }

    #[test]
    fn marks_and_acks_are_merged_per_conversation() {
        let mut outbox = Outbox::default();
        outbox.mark(id("a"), seq(3), 1_000);
        outbox.mark(id("a"), seq(2), 1_100);
        outbox.ack(id("b"), seq(7), None, 1_100);
        outbox.ack(id("b"), seq(7), Uid::new(1).ok(), 1_150);
        assert_eq!(outbox.due_ms(), Some(1_200));
        assert_eq!(outbox.take_due(1_199), []);
        assert_eq!(outbox.take_due(1_200), [Parcel::Mark(id("a"), seq(3))]);
        let acks = Parcel::Acks(id("b"), vec![(seq(7), Uid::new(1).ok())]);
        assert_eq!(outbox.take_due(1_300), std::slice::from_ref(&acks));
        assert!(outbox.is_empty());
        outbox.put_back(acks, 9_000);
        assert_eq!((outbox.due_ms(), outbox.take_due(8_999)), (Some(9_000), vec![]), "not before it may");
        outbox.ack(id("b"), seq(8), None, 2_000);
        let merged = vec![(seq(7), Uid::new(1).ok()), (seq(8), None)];
        assert_eq!(outbox.take_due(2_200), [Parcel::Acks(id("b"), merged)]);
    }

    #[test]
    fn many_acks_go_in_several_and_waiting_ones_are_bounded() {
        let mut outbox = Outbox::default();
        for n in 1..=WAITING_ACKS_MAX as u64 + 5 {
            outbox.ack(id("a"), seq(n), None, 0);
        }
        let parcels = outbox.take_due(MERGE_MS);
        assert_eq!(parcels.len(), WAITING_ACKS_MAX / ACKED_AT_ONCE);
        let Parcel::Acks(_, first) = &parcels[0] else { panic!("acks") };
        assert_eq!(first[0].0, seq(6), "the oldest gave way");
    }
}
