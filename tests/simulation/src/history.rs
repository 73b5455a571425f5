//! Histories: what an IM backend and its readers say, as records of the log, drawn from a seed.

mod bad;
mod reads;

use crate::rng::Rng;
use crate::world::START_MS;
use bytes::Bytes;
use readmark_domain::fact::{
    AckFact, ConversationClosed, ConversationFact, ConversationPolicy, HeadImported, MarkFact, MemberJoined,
    MemberLeft, MessageRecalled, MessageSent, SeqSkipped, UserErased, UserSettings, WatermarkImported,
};
use readmark_domain::hot::SEQS_MAX;
use readmark_domain::id::{ConversationId, MsgId, Seq, Uid};
use readmark_domain::register::ReceiptsMode;
use readmark_domain::time::{Order, OrderSource, TimeMs};
use readmark_events::Fact;
use readmark_log::NewRecord;
use std::collections::{BTreeMap, BTreeSet};

/// Ten minutes before the simulation starts, when the history happens.
const T0_MS: u64 = START_MS - 600_000;
const DAY_MS: u64 = 86_400_000;

/// What a record says.
#[derive(Debug, Clone)]
pub enum What {
    /// About a conversation.
    Conversation(ConversationFact),
    /// About messages read.
    Ack(AckFact),
    /// About a user.
    Mark(MarkFact),
    /// Nothing that can be used: a dead letter for this reason.
    Bad(&'static str),
}

/// A record to be fed.
#[derive(Debug, Clone)]
pub struct Given {
    /// As it goes into the log.
    pub record: NewRecord,
    /// What it says.
    pub what: What,
}

/// A history, and what kind of run it is for.
#[derive(Debug)]
pub struct History {
    /// In the order they are fed.
    pub given: Vec<Given>,
    /// Where orders come from.
    pub order_source: OrderSource,
    /// Policy of conversations that have none.
    pub default_receipts: ReceiptsMode,
    /// May time jump so far that caches expire and parked records become dead letters? These are redelivered
    /// at rest then, as the janitor would.
    pub jumpy: bool,
}

struct Conversation {
    id: ConversationId,
    base: u64,
    top: u64,
    senders: BTreeMap<u64, u64>,
    /// Seqs of messages past the retention, or soon.
    old: BTreeSet<u64>,
    /// Seqs that are no messages.
    skipped: BTreeSet<u64>,
    imported_head: u64,
}

struct Generator<'a> {
    rng: &'a mut Rng,
    users: u64,
    order_source: OrderSource,
    /// Policies get an order of their own each, but for ties that forbid.
    next_policy: u64,
    first: Vec<Given>,
    rest: Vec<Given>,
}

fn uid(n: u64) -> Uid {
    Uid::new(n).unwrap_or_default()
}

fn seq(n: u64) -> Seq {
    Seq::new_or_zero(n).unwrap_or_default()
}

/// A fact as it is fed.
fn given<F: Fact + Clone>(fact: &F, what: impl FnOnce(F) -> What) -> Given {
    let payload = readmark_events::encode(fact).unwrap_or_default();
    let record = NewRecord {
        topic: F::TOPIC,
        key: Bytes::from(fact.key()),
        payload: Bytes::from(payload),
        headers: vec![],
    };
    Given { record, what: what(fact.clone()) }
}

impl Given {
    /// The message that it says was sent.
    const fn sent(&self) -> Option<&MessageSent> {
        if let What::Conversation(ConversationFact::MessageSent(sent)) = &self.what {
            Some(sent)
        } else {
            None
        }
    }

    fn says_sent(&self, id: &ConversationId, seq: Seq) -> bool {
        self.sent().is_some_and(|sent| sent.conversation_id == *id && sent.seq == seq)
    }
}

impl History {
    /// The history of a seed.
    pub fn generate(rng: &mut Rng) -> Self {
        let order_source = if rng.chance(25) { OrderSource::Version } else { OrderSource::OccurredAt };
        let default_receipts = if rng.chance(10) { ReceiptsMode::Off } else { ReceiptsMode::Full };
        let jumpy = rng.chance(30);
        let users = rng.within(3, 6);
        let mut generator =
            Generator { rng, users, order_source, next_policy: 100, first: Vec::new(), rest: Vec::new() };
        generator.fill(default_receipts);
        let Generator { first, rest, .. } = generator;
        let given = first.into_iter().chain(rest).collect();
        Self { given, order_source, default_receipts, jumpy }
    }

    /// When each message was sent.
    #[must_use]
    pub fn sent(&self) -> BTreeMap<(ConversationId, Seq), TimeMs> {
        let messages = self.given.iter().filter_map(Given::sent);
        messages.map(|sent| ((sent.conversation_id.clone(), sent.seq), sent.occurred_at)).collect()
    }
}

impl Generator<'_> {
    fn fill(&mut self, default_receipts: ReceiptsMode) {
        let conversations: Vec<Conversation> =
            (0..self.rng.within(1, 3)).map(|n| self.conversation(n, default_receipts)).collect();
        // Half of the histories change nobody's presence or switches: no later recount heals what is lost.
        let lean = self.rng.chance(50);
        for conversation in &conversations {
            self.reads(conversation);
            if !lean {
                self.changes(conversation);
            }
            if self.rng.chance(30) {
                self.bad(conversation);
            }
        }
        if !lean && self.rng.chance(60) {
            self.switches();
        }
    }

    /// Somewhere among what was said before.
    fn put(&mut self, given: Given) {
        let at = self.rng.index(self.rest.len() + 1);
        self.rest.insert(at, given);
    }

    fn put_conversation(&mut self, fact: &ConversationFact) {
        self.put(given(fact, What::Conversation));
    }

    fn put_mark(&mut self, fact: &MarkFact) {
        self.put(given(fact, What::Mark));
    }

    fn time(&mut self) -> TimeMs {
        TimeMs::saturating(T0_MS + self.rng.below(12) * 1_000)
    }

    fn orders(&mut self) -> (Option<TimeMs>, Option<Order>) {
        let at = self.time();
        match self.order_source {
            OrderSource::OccurredAt => (Some(at), None),
            OrderSource::Version => (None, Order::new(self.rng.within(1, 30)).ok()),
        }
    }

    fn join(&mut self, id: &ConversationId, who: u64, at_seq: u64, at: Option<u64>) -> ConversationFact {
        let (mut occurred_at, mut version) = self.orders();
        if let Some(at) = at {
            occurred_at = occurred_at.map(|_| TimeMs::saturating(T0_MS + at * 1_000));
            version = version.and_then(|_| Order::new(at).ok());
        }
        ConversationFact::MemberJoined(MemberJoined {
            conversation_id: id.clone(),
            uid: uid(who),
            at_seq: seq(at_seq),
            occurred_at,
            version,
        })
    }

    fn conversation(&mut self, n: u64, default_receipts: ReceiptsMode) -> Conversation {
        let id = ConversationId::new(&format!("c{n}")).unwrap_or_else(|_| unreachable!("a short name"));
        let base = self.rng.pick(&[0, 0, 0, 125, 5_000]);
        let mut conversation = Conversation {
            id: id.clone(),
            base,
            top: base + self.rng.within(3, 8),
            senders: BTreeMap::new(),
            old: BTreeSet::new(),
            skipped: BTreeSet::new(),
            imported_head: 0,
        };
        if default_receipts == ReceiptsMode::Off {
            let at = self.next_policy;
            self.policy(&id, ReceiptsMode::Full, at, T0_MS - 1_000);
            self.next_policy += 1;
        }
        // More skipped seqs than a hot state keeps one by one, with members from before them.
        let has_gap = base > SEQS_MAX as u64 && base < 1_000 && self.rng.chance(60);
        let mut late = Vec::new();
        for who in 1..=self.users {
            if self.rng.chance(80) {
                let at_seq = match self.rng.below(100) {
                    0..40 if has_gap => self.rng.below(base - SEQS_MAX as u64),
                    0..85 => base,
                    _ => base + self.rng.below(3),
                };
                // Some join facts come after a later one was known: stale, but `joined` is a maximum.
                let order = if self.rng.chance(25) { 8 } else { 0 };
                let join = given(&self.join(&id, who, at_seq, Some(order)), What::Conversation);
                if self.rng.chance(90) { self.first.push(join) } else { self.put(join) }
            } else if self.rng.chance(70) {
                late.push(who);
            }
        }
        if has_gap {
            self.put_conversation(&ConversationFact::SeqSkipped(SeqSkipped {
                conversation_id: id,
                from: seq(1),
                to: seq(base),
                occurred_at: TimeMs::saturating(T0_MS),
            }));
        } else if self.rng.chance(20) {
            self.import(&mut conversation);
        }
        self.messages(&mut conversation);
        for who in late {
            self.late_join(&conversation, who);
        }
        conversation
    }

    /// A first join right before some message.
    fn late_join(&mut self, conversation: &Conversation, who: u64) {
        let numbers: Vec<u64> = conversation.senders.keys().copied().collect();
        if numbers.is_empty() {
            return;
        }
        let n = self.rng.pick(&numbers);
        let join = given(&self.join(&conversation.id, who, n - 1, Some(1)), What::Conversation);
        let is_sent = |given: &Given| given.says_sent(&conversation.id, seq(n));
        match self.rest.iter().position(is_sent) {
            Some(at) => self.rest.insert(at, join),
            None => self.put(join),
        }
    }

    /// Members, heads and watermarks of before come before the first live read.
    fn import(&mut self, conversation: &mut Conversation) {
        let head = conversation.base + self.rng.within(1, 3);
        conversation.imported_head = head;
        let (id, occurred_at) = (conversation.id.clone(), TimeMs::saturating(T0_MS - 5_000));
        let imported = HeadImported { conversation_id: id.clone(), head_seq: seq(head), occurred_at };
        self.first.push(given(&ConversationFact::HeadImported(imported), What::Conversation));
        for who in 1..=self.users {
            if self.rng.chance(60) {
                let imported = WatermarkImported {
                    uid: uid(who),
                    conversation_id: id.clone(),
                    read_seq: seq(self.rng.within(conversation.base + 1, head)),
                    occurred_at,
                };
                self.first.push(given(&MarkFact::WatermarkImported(imported), What::Mark));
            }
        }
    }

    fn messages(&mut self, conversation: &mut Conversation) {
        let (id, base, top) = (conversation.id.clone(), conversation.base, conversation.top);
        let with_old = self.rng.chance(30);
        let old_up_to = if with_old { base + self.rng.within(1, 2) } else { 0 };
        let (mut sent, mut gone) = (Vec::new(), true);
        for n in base + 1..=top {
            if self.rng.chance(6) && n < top {
                let to = if self.rng.chance(50) && n + 1 < top { n + 1 } else { n };
                conversation.skipped.extend(n..=to);
                let skip = SeqSkipped {
                    conversation_id: id.clone(),
                    from: seq(n),
                    to: seq(to),
                    occurred_at: TimeMs::saturating(T0_MS),
                };
                self.put_conversation(&ConversationFact::SeqSkipped(skip));
                if self.rng.chance(60) {
                    continue;
                }
            }
            let sender = self.rng.within(1, self.users.min(3));
            conversation.senders.insert(n, sender);
            let at_ms = if n <= old_up_to {
                conversation.old.insert(n);
                // Later ones are never older.
                gone &= self.rng.chance(60);
                if gone { START_MS - 91 * DAY_MS } else { START_MS - 90 * DAY_MS + 2_000 }
            } else {
                T0_MS + (n - base) * 1_000
            };
            let message = self.message(&id, n, sender, at_ms);
            // Nothing new is said about a conversation before what is that old has come.
            if n <= old_up_to { self.first.push(message) } else { sent.push(message) }
        }
        if self.rng.chance(50) {
            self.rng.shuffle(&mut sent);
        }
        self.rest.extend(sent);
        if self.rng.chance(40) {
            let recalled = MessageRecalled {
                conversation_id: id,
                seq: seq(self.rng.within(base + 1, top)),
                occurred_at: self.time(),
            };
            self.put_conversation(&ConversationFact::MessageRecalled(recalled));
        }
    }

    fn message(&mut self, id: &ConversationId, n: u64, sender: u64, at_ms: u64) -> Given {
        let mentions =
            if self.rng.chance(10) { vec![uid(self.rng.within(1, self.users))] } else { Vec::new() };
        let sent = MessageSent {
            conversation_id: id.clone(),
            seq: seq(n),
            msg_id: MsgId::new(n + 1_000).unwrap_or_default(),
            sender_uid: uid(sender),
            occurred_at: TimeMs::saturating(at_ms),
            countable: self.rng.chance(85),
            mentions,
            mention_all: self.rng.chance(5),
        };
        given(&ConversationFact::MessageSent(sent), What::Conversation)
    }

    /// Leaves, joins, closings and policies.
    fn changes(&mut self, conversation: &Conversation) {
        let id = &conversation.id;
        for _ in 0..self.rng.below(4) {
            let who = self.rng.within(1, self.users);
            let (occurred_at, version) = self.orders();
            let at_seq = conversation.base + self.rng.below(conversation.top - conversation.base);
            let left = MemberLeft {
                conversation_id: id.clone(),
                uid: uid(who),
                at_seq: seq(at_seq),
                occurred_at,
                version,
            };
            if self.rng.chance(70) {
                self.put_conversation(&ConversationFact::MemberLeft(left));
            }
            if self.rng.chance(60) {
                let mut join = self.join(id, who, at_seq, None);
                if let (true, ConversationFact::MemberJoined(join)) = (self.rng.chance(15), &mut join) {
                    (join.occurred_at, join.version) = (occurred_at, version);
                }
                self.put_conversation(&join);
            }
        }
        if self.rng.chance(20) {
            let (occurred_at, version) = self.orders();
            let closed = self.rng.chance(50);
            let fact = ConversationClosed { conversation_id: id.clone(), closed, occurred_at, version };
            self.put_conversation(&ConversationFact::ConversationClosed(fact));
        }
        if self.rng.chance(30) {
            for _ in 0..self.rng.within(1, 3) {
                let mode = self.rng.pick(&[ReceiptsMode::Full, ReceiptsMode::Off, ReceiptsMode::Count]);
                let at_ms = T0_MS + self.rng.below(8) * 1_000 + self.next_policy;
                let order = self.next_policy;
                self.policy(id, mode, order, at_ms);
                if self.rng.chance(20) {
                    self.policy(id, ReceiptsMode::Off, order, at_ms);
                }
                self.next_policy += 1;
            }
        }
    }

    fn policy(&mut self, id: &ConversationId, receipts: ReceiptsMode, order: u64, at_ms: u64) {
        let version = match self.order_source {
            OrderSource::OccurredAt => None,
            OrderSource::Version => Order::new(order).ok(),
        };
        let occurred_at = Some(TimeMs::saturating(at_ms));
        let fact = ConversationPolicy { conversation_id: id.clone(), receipts, occurred_at, version };
        self.put_conversation(&ConversationFact::ConversationPolicy(fact));
    }

    fn switches(&mut self) {
        for _ in 0..self.rng.within(1, 2) {
            let who = uid(self.rng.within(1, self.users));
            for _ in 0..self.rng.within(1, 4) {
                let (receipts, occurred_at) = (self.rng.chance(55), self.time());
                self.put_mark(&MarkFact::UserSettings(UserSettings { uid: who, receipts, occurred_at }));
            }
        }
        if self.rng.chance(8) {
            let who = uid(self.rng.within(1, self.users));
            let occurred_at = self.time();
            self.put_mark(&MarkFact::UserErased(UserErased { uid: who, occurred_at }));
        }
    }
}
