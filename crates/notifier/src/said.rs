//! What was said about one conversation, merged: every part is a maximum or a union, so the order in which it came
//! makes no difference.

use readmark_domain::hot::Change;
use readmark_domain::id::{Seq, Uid};
use readmark_domain::register::{Latest, Presence};
use readmark_domain::seq_ranges::{SeqRange, SeqRanges};
use readmark_domain::time::TimeMs;
use readmark_events::{ConversationChanged, HeadMessage};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// The merged facts of one conversation.
#[derive(Debug, Default)]
pub(crate) struct Said {
    head: Seq,
    newest_sent_at: TimeMs,
    uncounted: Vec<SeqRange>,
    mentions: BTreeMap<Uid, Vec<Seq>>,
    mentions_of_all: Vec<Seq>,
    own: BTreeMap<Uid, Seq>,
    closed: Option<Latest>,
    roster: BTreeMap<Uid, Presence>,
}

/// What each member is told.
#[derive(Debug, Default)]
pub(crate) struct ForMembers {
    /// Most of them the same.
    pub common: Arc<Change>,
    /// Those who sent a message or are mentioned.
    pub special: HashMap<Uid, Arc<Change>>,
}

impl ForMembers {
    /// What this member is told.
    pub fn of(&self, uid: Uid) -> Arc<Change> {
        self.special.get(&uid).unwrap_or(&self.common).clone()
    }
}

impl Said {
    /// Adds a fact.
    pub fn add(&mut self, changed: &ConversationChanged) {
        match changed {
            ConversationChanged::Head { head_seq, messages, .. } => self.add_head(*head_seq, messages),
            ConversationChanged::Uncounted { seqs, head_seq, .. } => {
                self.uncounted.extend(seqs.ranges());
                self.raise_head(*head_seq, seqs);
            }
            ConversationChanged::Roster { uid, presence, .. } => {
                let known = self.roster.entry(*uid).or_insert(*presence);
                *known = known.merge(*presence);
            }
            ConversationChanged::Closed { closed, .. } => self.closed = self.closed.max(Some(*closed)),
            ConversationChanged::Policy { .. } => {}
        }
    }

    fn add_head(&mut self, head_seq: Seq, messages: &[HeadMessage]) {
        for message in messages {
            let HeadMessage { seq, sender_uid, sent_at, .. } = message;
            self.newest_sent_at = self.newest_sent_at.max(*sent_at);
            let own = self.own.entry(*sender_uid).or_default();
            *own = (*own).max(*seq);
            if !message.countable {
                self.uncounted.extend(SeqRange::new(*seq, *seq));
            }
            for uid in &message.mentions {
                self.mentions.entry(*uid).or_default().push(*seq);
            }
            if message.mention_all {
                self.mentions_of_all.push(*seq);
            }
        }
        match messages {
            [] => self.head = self.head.max(head_seq),
            named => {
                self.raise_head(head_seq, &SeqRanges::from_seqs(named.iter().map(|message| message.seq)))
            }
        }
    }

    /// To the greatest seq named, never to a head beyond: what is said of the messages between is still to come, and
    /// until then somebody's own message would show as unread.
    fn raise_head(&mut self, head_seq: Seq, named: &SeqRanges) {
        let reached = named.ranges().iter().rev().find(|range| range.first() <= head_seq);
        let reached = reached.map(|range| range.last().min(head_seq)).unwrap_or_default();
        self.head = self.head.max(reached);
    }

    /// Must every member learn of it, however large the conversation is? Whoever reads late compares heads, and a
    /// conversation that was closed has none.
    pub const fn concerns_all(&self) -> bool {
        self.closed.is_some()
    }

    /// Presences of single members.
    pub fn roster(&self) -> impl Iterator<Item = (Uid, Presence)> + '_ {
        self.roster.iter().map(|(uid, presence)| (*uid, *presence))
    }

    /// What each member is told; nothing when only the roster changed.
    pub fn for_members(&self, is_large: bool) -> Option<ForMembers> {
        let says_nothing = self.head == Seq::ZERO && self.uncounted.is_empty() && self.closed.is_none();
        if says_nothing && !is_large {
            return None;
        }
        let common = Change {
            head: self.head,
            newest_sent_at: self.newest_sent_at,
            is_large,
            closed: self.closed,
            ..Change::default()
        };
        let common = common.with_uncounted(&SeqRanges::from_ranges(self.uncounted.clone()));
        let named: BTreeSet<Uid> = self.mentions.keys().chain(self.own.keys()).copied().collect();
        let special = named.into_iter().map(|uid| (uid, Arc::new(self.for_one(uid, common.clone()))));
        Some(ForMembers {
            special: special.collect(),
            common: Arc::new(
                common.with_mentions(&SeqRanges::from_seqs(self.mentions_of_all.iter().copied())),
            ),
        })
    }

    fn for_one(&self, uid: Uid, common: Change) -> Change {
        let floor = self.own.get(&uid).copied().unwrap_or_default();
        let named = self.mentions.get(&uid).map(Vec::as_slice).unwrap_or_default();
        let mentions = self.mentions_of_all.iter().chain(named).copied();
        Change { floor, ..common }.with_mentions(&SeqRanges::from_seqs(mentions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmark_domain::id::ConversationId;
    use readmark_domain::time::Order;

    fn seq(n: u64) -> Seq {
        Seq::new_or_zero(n).unwrap()
    }

    fn uid(n: u64) -> Uid {
        Uid::new(n).unwrap()
    }

    fn id() -> ConversationId {
        ConversationId::new("c").unwrap()
    }

    fn message(n: u64, sender: u64) -> HeadMessage {
        HeadMessage {
            seq: seq(n),
            sender_uid: uid(sender),
            sent_at: TimeMs::new(1_000 + n).unwrap(),
            countable: true,
            mentions: Vec::new(),
            mention_all: false,
        }
    }

    fn head(head_seq: u64, messages: Vec<HeadMessage>) -> ConversationChanged {
        ConversationChanged::Head { conversation_id: id(), head_seq: seq(head_seq), messages }
    }

    fn uncounted(head_seq: u64, from: u64, to: u64) -> ConversationChanged {
        let seqs = SeqRanges::from_ranges(vec![SeqRange::new(seq(from), seq(to)).unwrap()]);
        ConversationChanged::Uncounted { conversation_id: id(), head_seq: seq(head_seq), seqs }
    }

    fn said(facts: &[ConversationChanged]) -> Said {
        let mut said = Said::default();
        facts.iter().for_each(|fact| said.add(fact));
        said
    }

    #[test]
    fn the_newest_head_wins_and_senders_and_mentioned_are_told_more() {
        let mention = HeadMessage { mentions: vec![uid(8)], ..message(2, 7) };
        let to_all = HeadMessage { mention_all: true, countable: false, ..message(3, 9) };
        let for_members = said(&[head(3, vec![to_all]), head(2, vec![mention])]).for_members(false).unwrap();
        let seqs = |seqs: &[u64]| SeqRanges::from_seqs(seqs.iter().map(|n| seq(*n)));
        let newest_sent_at = TimeMs::new(1_003).unwrap();
        let common = Change { head: seq(3), newest_sent_at, ..Change::default() };
        let common = common.with_uncounted(&seqs(&[3])).with_mentions(&seqs(&[3]));
        assert_eq!(*for_members.of(uid(5)), common);
        assert_eq!(*for_members.of(uid(8)), common.clone().with_mentions(&seqs(&[2, 3])));
        assert_eq!(*for_members.of(uid(7)), Change { floor: seq(2), ..common.clone() });
        assert_eq!(*for_members.of(uid(9)), Change { floor: seq(3), ..common });
    }

    #[test]
    fn a_head_is_told_only_as_far_as_its_messages_are() {
        let told = |facts: &[ConversationChanged]| said(facts).for_members(false).unwrap().common.head.get();
        assert_eq!(told(&[head(10, vec![message(8, 7)])]), 8, "10 has not been said yet");
        assert_eq!(told(&[head(10, vec![])]), 10, "an imported head names nothing");
        assert_eq!(told(&[uncounted(10, 3, 3)]), 3, "a recall");
        assert_eq!(told(&[uncounted(9, 10, 10)]), 0, "a recall that is faster than its message");
        assert_eq!(told(&[uncounted(6, 4, 6)]), 6, "a skip");
        assert_eq!(told(&[uncounted(6, 4, 600)]), 6);
    }

    #[test]
    fn of_a_roster_the_greatest_presence_is_told_and_nothing_to_the_others() {
        let presence = |order, present| Presence::new(Order::new(order).unwrap(), present);
        let roster = |order, present| ConversationChanged::Roster {
            conversation_id: id(),
            uid: uid(5),
            presence: presence(order, present),
            joined_seq: Seq::ZERO,
        };
        let said = said(&[roster(4, false), roster(3, true)]);
        assert_eq!(said.roster().collect::<Vec<_>>(), [(uid(5), presence(4, false))]);
        assert!(said.for_members(false).is_none());
        assert!(
            said.for_members(true).is_some_and(|told| told.common.is_large),
            "once it is large, all learn it"
        );
    }
}
