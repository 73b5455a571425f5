//! The truth, from the list of what was said and nothing else: written naively and apart from the product's
//! own merges, roster and tally.

use crate::commits::RETENTION;
use crate::history::{Given, History, What};
use readmark_domain::fact::{AckFact, ConversationFact, MarkFact, Origin, Receipts, order_of};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::register::ReceiptsMode;
use readmark_domain::time::{OrderSource, TimeMs};
use std::collections::{BTreeMap, BTreeSet};

/// A message as it was sent.
#[derive(Debug, Clone)]
pub struct Sent {
    /// By whom.
    pub sender: Uid,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// Past the retention at the end.
    pub expired: bool,
}

/// A switch as it was said: order, time, does it allow?
pub type Said = (i64, u64, bool);

/// Registers of a user in a conversation.
#[derive(Debug, Clone, Default)]
pub struct Marks {
    /// Everything asked that surely raises the watermark.
    pub read_at_least: u64,
    /// Everything asked that may raise it.
    pub read_at_most: u64,
    /// An ack names a message that expires: what becomes of it depends on when it is looked at.
    pub vague: bool,
    /// Greatest "read up to".
    pub claimed: u64,
    /// Greatest clear.
    pub cleared: u64,
    /// Greatest imported watermark.
    pub imported: u64,
    /// Greatest own message.
    pub own: u64,
    /// Order and value.
    pub marked_unread: Option<(u64, bool)>,
    /// Order and value.
    pub muted: Option<(u64, bool)>,
}

/// One conversation.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    /// By seq.
    pub messages: BTreeMap<u64, Sent>,
    /// Recalled or skipped.
    pub void: BTreeSet<u64>,
    /// Skipped.
    pub skipped: BTreeSet<u64>,
    /// Void or not countable.
    pub uncounted: BTreeSet<u64>,
    /// The newest seq.
    pub head: u64,
    /// When imported.
    pub imported_head: u64,
    /// Every join and leave: order, left.
    pub presence: BTreeMap<Uid, BTreeSet<(u64, bool)>>,
    /// Greatest at_seq of joins.
    pub joined: BTreeMap<Uid, u64>,
    /// Policy switches.
    pub policy: Vec<Said>,
    /// Order and value.
    pub closed: Option<(u64, bool)>,
}

/// Everything.
#[derive(Debug, Default)]
pub struct Truth {
    /// By id.
    pub conversations: BTreeMap<ConversationId, Conversation>,
    /// Registers.
    pub marks: BTreeMap<(Uid, ConversationId), Marks>,
    /// Switches of users.
    pub switches: BTreeMap<Uid, Vec<Said>>,
    /// Who surely has read what: (conversation, seq, reader).
    pub must: BTreeSet<(ConversationId, u64, Uid)>,
    /// Who said to have read what.
    pub may: BTreeSet<(ConversationId, u64, Uid)>,
    /// Records that must be among the dead letters, by number, and why.
    pub dead: BTreeMap<usize, &'static str>,
    /// Records that may be.
    pub may_be_dead: BTreeSet<usize>,
    /// Everybody named.
    pub users: BTreeSet<Uid>,
}

/// Since when receipts are allowed; at equal orders the forbidding one is the later.
fn since(said: &[Said]) -> Option<u64> {
    let later = |x: &Said| (x.0, !x.2);
    let Some(last_off) = said.iter().filter(|x| !x.2).max_by_key(|x| later(x)) else { return Some(0) };
    let first_on = said.iter().filter(|x| x.2 && later(x) > later(last_off)).min_by_key(|x| later(x))?;
    said.iter().filter(|x| !x.2).map(|x| x.1).chain([first_on.1]).max()
}

fn keep_greatest(register: &mut Option<(u64, bool)>, said: (u64, bool)) {
    *register = (*register).max(Some(said));
}

impl Truth {
    /// Of a history, at a time.
    #[must_use]
    pub fn of(history: &History, now: TimeMs) -> Self {
        let mut truth = Self::default();
        for given in &history.given {
            if let What::Conversation(fact) = &given.what {
                truth.conversation_fact(fact, history, now);
            }
            if let What::Mark(MarkFact::UserSettings(fact)) = &given.what {
                truth.switch(fact.uid, fact.occurred_at, fact.receipts);
            }
            if let What::Mark(MarkFact::UserErased(fact)) = &given.what {
                truth.switch(fact.uid, fact.occurred_at, false);
            }
        }
        for (number, given) in history.given.iter().enumerate() {
            truth.read_fact(number, given);
        }
        truth
    }

    fn switch(&mut self, uid: Uid, at: TimeMs, on: bool) {
        let said = self.switches.entry(uid).or_default();
        said.push((at.get().cast_signed(), at.get(), on));
    }

    fn conversation_fact(&mut self, fact: &ConversationFact, history: &History, now: TimeMs) {
        let source: OrderSource = history.order_source;
        let id = fact.conversation_id().clone();
        let allows = history.default_receipts != ReceiptsMode::Off;
        let conversation = self
            .conversations
            .entry(id.clone())
            .or_insert_with(|| Conversation { policy: vec![(-1, 0, allows)], ..Conversation::default() });
        match fact {
            ConversationFact::MessageSent(f) => {
                let (n, at_ms) = (f.seq.get(), f.occurred_at.get());
                let expired = now.get() - at_ms >= RETENTION.keep_ms;
                conversation.messages.entry(n).or_insert(Sent { sender: f.sender_uid, at_ms, expired });
                conversation.head = conversation.head.max(n);
                if !f.countable {
                    conversation.uncounted.insert(n);
                }
                self.users.insert(f.sender_uid);
                let marks = self.marks.entry((f.sender_uid, id)).or_default();
                marks.own = marks.own.max(n);
            }
            ConversationFact::MessageRecalled(f) => {
                conversation.void.insert(f.seq.get());
                conversation.uncounted.insert(f.seq.get());
            }
            ConversationFact::SeqSkipped(f) => {
                for n in f.from.get()..=f.to.get() {
                    conversation.void.insert(n);
                    conversation.skipped.insert(n);
                    conversation.uncounted.insert(n);
                }
                conversation.head = conversation.head.max(f.to.get());
            }
            ConversationFact::MemberJoined(f) => {
                let order = order_of(source, f.occurred_at, f.version).map(|o| o.get()).unwrap_or_default();
                conversation.presence.entry(f.uid).or_default().insert((order, false));
                let joined = conversation.joined.entry(f.uid).or_default();
                *joined = (*joined).max(f.at_seq.get());
                self.users.insert(f.uid);
            }
            ConversationFact::MemberLeft(f) => {
                let order = order_of(source, f.occurred_at, f.version).map(|o| o.get()).unwrap_or_default();
                conversation.presence.entry(f.uid).or_default().insert((order, true));
                self.users.insert(f.uid);
            }
            ConversationFact::ConversationClosed(f) => {
                let order = order_of(source, f.occurred_at, f.version).map(|o| o.get()).unwrap_or_default();
                keep_greatest(&mut conversation.closed, (order, f.closed));
            }
            ConversationFact::ConversationPolicy(f) => {
                let order = order_of(source, f.occurred_at, f.version).map(|o| o.get()).unwrap_or_default();
                let at_ms = f.occurred_at.unwrap_or_default().get();
                conversation.policy.push((order.cast_signed(), at_ms, f.receipts != ReceiptsMode::Off));
            }
            ConversationFact::HeadImported(f) => {
                conversation.imported_head = conversation.imported_head.max(f.head_seq.get());
                conversation.head = conversation.head.max(f.head_seq.get());
            }
        }
    }

    /// When a user last switched off, by its own clock.
    fn newest_off(&self, uid: Uid) -> u64 {
        let said = self.switches.get(&uid).map(Vec::as_slice).unwrap_or_default();
        said.iter().filter(|x| !x.2).map(|x| x.1).max().unwrap_or(0)
    }

    fn read_fact(&mut self, number: usize, given: &Given) {
        match &given.what {
            What::Bad(reason) => {
                self.dead.insert(number, reason);
            }
            What::Ack(AckFact::Receipts(receipts)) => self.receipts(number, receipts),
            What::Ack(AckFact::Recount(_)) | What::Conversation(_) => {}
            What::Mark(mark) => self.mark(number, mark),
        }
    }

    fn receipts(&mut self, number: usize, fact: &Receipts) {
        debug_assert_eq!(fact.origin, Origin::Client);
        let (id, reader) = (&fact.conversation_id, fact.reader_uid);
        let newest_off = self.newest_off(reader);
        let conversation = self.conversations.get(id).cloned().unwrap_or_default();
        self.users.insert(reader);
        let marks = self.marks.entry((reader, id.clone())).or_default();
        for n in fact.seqs.iter().map(Seq::get) {
            let sent = conversation.messages.get(&n);
            let gone = conversation.skipped.contains(&n) || n <= conversation.imported_head;
            if sent.is_none() && !gone {
                self.dead.insert(number, "message-missing");
                continue;
            }
            self.may.insert((id.clone(), n, reader));
            marks.read_at_most = marks.read_at_most.max(n);
            match sent {
                Some(sent) if sent.expired => {
                    self.may_be_dead.insert(number);
                    marks.vague = true;
                }
                Some(sent) => {
                    marks.read_at_least = marks.read_at_least.max(n);
                    let kept = sent.at_ms >= newest_off && !conversation.void.contains(&n);
                    if kept && n > conversation.imported_head {
                        self.must.insert((id.clone(), n, reader));
                    }
                }
                None => marks.read_at_least = marks.read_at_least.max(n),
            }
        }
    }

    fn mark(&mut self, number: usize, mark: &MarkFact) {
        self.users.insert(mark.uid());
        match mark {
            MarkFact::ReadUpTo(f) => {
                self.read_up_to(number, f.uid, &f.conversation_id, f.up_to_seq.get(), f.occurred_at)
            }
            MarkFact::Cleared(f) => {
                let n = f.up_to_seq.get();
                let marks = self.marks.entry((f.uid, f.conversation_id.clone())).or_default();
                marks.cleared = marks.cleared.max(n);
                keep_greatest(&mut marks.marked_unread, (f.occurred_at.get(), false));
            }
            MarkFact::MarkedUnread(f) => {
                let marks = self.marks.entry((f.uid, f.conversation_id.clone())).or_default();
                keep_greatest(&mut marks.marked_unread, (f.occurred_at.get(), f.value));
            }
            MarkFact::Muted(f) => {
                let marks = self.marks.entry((f.uid, f.conversation_id.clone())).or_default();
                keep_greatest(&mut marks.muted, (f.occurred_at.get(), f.value));
            }
            MarkFact::WatermarkImported(f) => {
                let n = f.read_seq.get();
                let marks = self.marks.entry((f.uid, f.conversation_id.clone())).or_default();
                marks.imported = marks.imported.max(n);
                marks.read_at_least = marks.read_at_least.max(n);
                marks.read_at_most = marks.read_at_most.max(n);
            }
            MarkFact::UserSettings(_) | MarkFact::UserErased(_) => {}
        }
    }

    fn read_up_to(&mut self, number: usize, uid: Uid, id: &ConversationId, up_to: u64, at: TimeMs) {
        let conversation = self.conversations.get(id).cloned().unwrap_or_default();
        if up_to > conversation.head {
            self.dead.insert(number, "beyond-head");
            return;
        }
        let newest_off = self.newest_off(uid);
        let joined = conversation.joined.get(&uid).copied().unwrap_or(0);
        let marks = self.marks.entry((uid, id.clone())).or_default();
        marks.claimed = marks.claimed.max(up_to);
        marks.read_at_least = marks.read_at_least.max(up_to);
        marks.read_at_most = marks.read_at_most.max(up_to);
        keep_greatest(&mut marks.marked_unread, (at.get(), false));
        let imported = marks.imported;
        for (n, sent) in conversation.messages.range(..=up_to) {
            if sent.sender == uid {
                continue;
            }
            self.may.insert((id.clone(), *n, uid));
            let kept = sent.at_ms >= newest_off && !conversation.void.contains(n) && !sent.expired;
            if kept && *n > joined && *n > imported {
                self.must.insert((id.clone(), *n, uid));
            }
        }
    }

    /// Does a user count for a message?
    #[must_use]
    pub fn counts(&self, id: &ConversationId, n: u64, uid: Uid) -> bool {
        let Some(conversation) = self.conversations.get(id) else { return false };
        let Some(sent) = conversation.messages.get(&n) else { return false };
        let present = conversation.presence.get(&uid).and_then(BTreeSet::last).is_some_and(|(_, left)| !left);
        let joined = conversation.joined.get(&uid).copied().unwrap_or(0);
        let allowed = |said: &[Said]| since(said).is_some_and(|at| at <= sent.at_ms);
        let switches = self.switches.get(&uid).map(Vec::as_slice).unwrap_or_default();
        present && joined < n && uid != sent.sender && allowed(switches) && allowed(&conversation.policy)
    }
}
