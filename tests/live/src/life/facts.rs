//! The state of one conversation, as far as it decides what may be said next, and the IM's facts made from it.

use rand::Rng;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Most users mentioned in one message.
const MENTIONED_MAX: usize = 3;

/// One conversation.
pub struct Facts {
    pub id: String,
    pub head: u64,
    /// Members who are present.
    pub present: BTreeSet<u64>,
    /// The greatest seq after which each ever joined.
    pub joined: BTreeMap<u64, u64>,
    pub senders: BTreeMap<u64, u64>,
    pub skipped: BTreeSet<u64>,
    /// A message below the head that is still to be said: it comes late.
    pub held: Option<(u64, Value)>,
    pub is_closed: bool,
    pub is_off: bool,
}

impl Facts {
    pub fn new(id: String) -> Self {
        Self {
            id,
            head: 0,
            present: BTreeSet::new(),
            joined: BTreeMap::new(),
            senders: BTreeMap::new(),
            skipped: BTreeSet::new(),
            held: None,
            is_closed: false,
            is_off: false,
        }
    }

    /// An event of this conversation.
    pub fn event(&self, kind: &str, at_ms: u64, fields: Value) -> Value {
        let mut event = fields;
        event["type"] = json!(kind);
        event["conversation_id"] = json!(self.id);
        event["occurred_at"] = json!(at_ms.to_string());
        event
    }

    pub fn member(&self, random: &mut StdRng) -> Option<u64> {
        let at = random.random_range(0..self.present.len().max(1));
        self.present.iter().nth(at).copied()
    }

    /// A seq that was said: a message or a skipped one.
    pub fn seq(&self, random: &mut StdRng) -> Option<u64> {
        let seq = (self.head > 0).then(|| random.random_range(1..=self.head));
        seq.filter(|seq| self.held.as_ref().is_none_or(|(held, _)| held != seq))
    }

    /// A seq near the head more often than not, as people read.
    pub fn recent_seq(&self, random: &mut StdRng) -> Option<u64> {
        let near = self.head.saturating_sub(random.random_range(0..10));
        if random.random_bool(0.7) && near > 0 {
            Some(near).filter(|seq| self.held.as_ref().is_none_or(|(held, _)| held != seq))
        } else {
            self.seq(random)
        }
    }

    /// A new message.
    pub fn message(&mut self, random: &mut StdRng, at_ms: u64) -> Option<(u64, Value)> {
        let sender = self.member(random)?;
        self.head += 1;
        self.senders.insert(self.head, sender);
        let mut fields = json!({
            "seq": self.head.to_string(),
            "msg_id": (7_000_000 + self.head).to_string(),
            "sender_uid": sender.to_string(),
            "countable": random.random_range(0..20) > 0,
        });
        match random.random_range(0..20) {
            0..3 => {
                let count = random.random_range(1..=MENTIONED_MAX);
                let mentioned: BTreeSet<u64> = (0..count).filter_map(|_| self.member(random)).collect();
                fields["mentions"] = json!(mentioned.iter().map(u64::to_string).collect::<Vec<_>>());
            }
            3 => fields["mention_all"] = json!(true),
            _ => {}
        }
        Some((self.head, self.event("message_sent", at_ms, fields)))
    }

    /// Seqs that are passed over.
    pub fn skip(&mut self, random: &mut StdRng, at_ms: u64) -> Value {
        let (from, to) = (self.head + 1, self.head + random.random_range(1..=3));
        self.skipped.extend(from..=to);
        self.head = to;
        self.event("seq_skipped", at_ms, json!({"from": from.to_string(), "to": to.to_string()}))
    }

    /// A user joins, most of them at the head, some with a part of what was before.
    pub fn join(&mut self, random: &mut StdRng, uid: u64, at_ms: u64) -> Value {
        let at_seq = if random.random_bool(0.8) { self.head } else { random.random_range(0..=self.head) };
        self.present.insert(uid);
        let joined = self.joined.entry(uid).or_default();
        *joined = at_seq.max(*joined);
        self.event("member_joined", at_ms, json!({"uid": uid.to_string(), "at_seq": at_seq.to_string()}))
    }

    pub fn leave(&mut self, uid: u64, at_ms: u64) -> Value {
        self.present.remove(&uid);
        self.event("member_left", at_ms, json!({"uid": uid.to_string(), "at_seq": self.head.to_string()}))
    }

    /// Why an ack of this user for this seq must be ignored, if it must.
    pub fn is_ignored(&self, uid: u64, seq: u64) -> bool {
        self.skipped.contains(&seq) || self.senders.get(&seq) == Some(&uid) || seq <= self.joined[&uid]
    }
}
