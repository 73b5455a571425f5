//! What the IM says.

use super::{Effects, Rule, Sent, State};
use readmark_domain::counting::{Message, MessageFlags};
use readmark_domain::fact::{ConversationFact, MemberJoined, MemberLeft, MessageSent, order_of};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::read_array::chunks_for;
use readmark_domain::register::{Latest, Presence};
use readmark_domain::time::{Order, OrderSource, TimeMs};

/// The facts here are ordered by versions, so that order and time can contradict each other.
fn order(occurred_at: Option<TimeMs>, version: Option<Order>) -> Order {
    order_of(OrderSource::Version, occurred_at, version).expect("every generated fact has a version")
}

impl State {
    pub(super) fn take_conversation_fact(&mut self, fact: &ConversationFact, effects: &mut Effects) {
        let conversation = self.conversation(fact.conversation_id());
        match fact {
            ConversationFact::MessageSent(sent) => self.take_message(sent, effects),
            ConversationFact::MessageRecalled(fact) => {
                let flag = MessageFlags { recalled: true, ..MessageFlags::default() };
                let sent = conversation.seqs.entry(fact.seq).or_default();
                sent.flags = sent.flags.merge(flag);
            }
            ConversationFact::SeqSkipped(fact) => {
                let flag = MessageFlags { skipped: true, ..MessageFlags::default() };
                for n in fact.from.get()..=fact.to.get() {
                    let sent = conversation.seqs.entry(Seq::new(n).unwrap()).or_default();
                    sent.flags = sent.flags.merge(flag);
                }
                conversation.head = conversation.head.max(fact.to);
            }
            ConversationFact::MemberJoined(fact) => self.take_join(fact),
            ConversationFact::MemberLeft(fact) => self.take_leave(fact),
            ConversationFact::ConversationClosed(fact) => {
                let closed = Latest { order: order(fact.occurred_at, fact.version), value: fact.closed };
                conversation.closed = conversation.closed.max(Some(closed));
            }
            ConversationFact::ConversationPolicy(fact) => {
                conversation.policy.add(fact.switch(OrderSource::Version).expect("has version and time"));
            }
            ConversationFact::HeadImported(fact) => {
                conversation.imported_head = conversation.imported_head.max(fact.head_seq);
                conversation.head = conversation.head.max(fact.head_seq);
            }
        }
    }

    fn take_message(&mut self, fact: &MessageSent, effects: &mut Effects) {
        let late = self.left_out != Some(Rule::LateMessage);
        let conversation = self.conversation(&fact.conversation_id);
        let chunks = chunks_for(conversation.roster().present_count());
        let Sent { message, mentions, mention_all, flags, .. } =
            conversation.seqs.entry(fact.seq).or_default();
        if message.is_none() {
            (*mentions, *mention_all) = (fact.mentions.clone(), fact.mention_all);
            let flag = MessageFlags { not_countable: !fact.countable, ..MessageFlags::default() };
            *flags = flags.merge(flag);
        }
        let message = message.get_or_insert_with(|| Message {
            conversation_id: fact.conversation_id.clone(),
            seq: fact.seq,
            msg_id: fact.msg_id,
            sender_uid: fact.sender_uid,
            sent_at: fact.occurred_at,
            countable: fact.countable,
            chunks,
        });
        let message = message.clone();
        conversation.head = conversation.head.max(fact.seq);
        let own = &mut conversation.user(fact.sender_uid).own;
        *own = fact.seq.max(*own);
        let claimed = conversation.members.values().filter(|member| late && member.has_claimed(&message));
        for reader in claimed.map(|member| member.uid).collect::<Vec<_>>() {
            self.add_receipts(&fact.conversation_id, fact.sender_uid, reader, [fact.seq], effects);
        }
    }

    fn take_join(&mut self, fact: &MemberJoined) {
        self.take_presence(&fact.conversation_id, fact.uid, order(fact.occurred_at, fact.version), true);
        let joined_is_maximum = self.left_out != Some(Rule::JoinedIsMaximum);
        let member = self.member(&fact.conversation_id, fact.uid);
        member.joined = if joined_is_maximum { member.joined.max(fact.at_seq) } else { fact.at_seq };
    }

    fn take_leave(&mut self, fact: &MemberLeft) {
        self.take_presence(&fact.conversation_id, fact.uid, order(fact.occurred_at, fact.version), false);
    }

    fn take_presence(&mut self, id: &ConversationId, uid: Uid, order: Order, present: bool) {
        let leaving_wins = self.left_out != Some(Rule::LeavingWinsTies);
        let new = Presence::new(order, present);
        let member = self.member(id, uid);
        let tie = member.presence.is_some_and(|known| known.key().get() / 2 == order.get());
        member.presence = if tie && !leaving_wins { Some(new) } else { member.presence.max(Some(new)) };
    }
}
