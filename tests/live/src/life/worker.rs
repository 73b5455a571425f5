//! One conversation's worker.

use super::facts::Facts;
use super::{FIRST_UID, Life};
use rand::Rng;
use rand::rngs::StdRng;
use readmark_test_harness::oracle::Flag;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Most messages in one ack.
const ACKED_MAX: usize = 5;
/// Conversations in which the policy changes: what was sent before an "off" counts nobody for ever.
const WITH_POLICY: u64 = 2;
/// Share of the users that is in a conversation at first.
const MEMBERS: f64 = 0.35;
/// Users' own calls take the gateway's clock, which is ahead of all that the IM says.
const OWN_TIMES: u64 = 1 << 60;

pub struct Worker {
    life: Arc<Life>,
    number: u64,
    random: StdRng,
    facts: Facts,
    events: u64,
    said: u64,
}

impl Worker {
    pub fn new(life: &Arc<Life>, number: u64, events: u64) -> Self {
        let facts = Facts::new(format!("life-{number}"));
        Self { life: life.clone(), number, random: life.random(number), facts, events, said: 0 }
    }

    pub async fn run(mut self) {
        let joins: Vec<Value> = (0..self.life.size.users)
            .filter(|_| self.random.random_bool(MEMBERS))
            .collect::<Vec<_>>()
            .into_iter()
            .map(|n| self.facts.join(&mut self.random, FIRST_UID + n, self.life.next_ms()))
            .collect();
        self.tell(joins).await;
        while self.said < self.events {
            self.step().await;
        }
        self.release().await;
        self.reopen().await;
    }

    async fn step(&mut self) {
        match self.random.random_range(0..100) {
            0..30 => {
                let count = self.random.random_range(1..=4);
                let sent =
                    (0..count).filter_map(|_| self.facts.message(&mut self.random, self.life.next_ms()));
                let sent = sent.map(|(_, event)| event).collect();
                self.tell(sent).await;
            }
            30..33 => self.hold_back().await,
            33..36 => self.release().await,
            36..40 => self.recall().await,
            40..42 => {
                let skipped = self.facts.skip(&mut self.random, self.life.next_ms());
                self.tell(vec![skipped]).await;
            }
            42..48 => self.change_roster().await,
            48..51 => self.switch_receipts().await,
            51 => self.change_policy().await,
            52 => self.close().await,
            53..55 => self.reopen().await,
            _ if self.facts.is_closed => {}
            55..60 => self.clear().await,
            60..64 => self.set_flag("unread-mark", "marked", Flag::MarkedUnread).await,
            64..67 => self.set_flag("mute", "muted", Flag::Muted).await,
            67..82 => self.ack().await,
            _ => self.read().await,
        }
    }

    /// The IM says something.
    async fn tell(&mut self, events: Vec<Value>) {
        if events.is_empty() {
            return;
        }
        self.life.world.server.as_service().events(&events).await;
        let mut oracle = self.life.world.oracle();
        events.iter().for_each(|event| oracle.event(event));
        drop(oracle);
        self.count(events.len());
    }

    fn count(&mut self, facts: usize) {
        self.said += facts as u64;
        self.life.count(facts);
    }

    /// A message is overtaken by the one after it.
    async fn hold_back(&mut self) {
        if self.facts.held.is_some() {
            return;
        }
        let held = self.facts.message(&mut self.random, self.life.next_ms());
        let next = self.facts.message(&mut self.random, self.life.next_ms());
        self.facts.held = held;
        self.tell(next.into_iter().map(|(_, event)| event).collect()).await;
    }

    async fn release(&mut self) {
        if let Some((_, event)) = self.facts.held.take() {
            self.tell(vec![event]).await;
        }
    }

    /// Of any message, also of one that is still to come.
    async fn recall(&mut self) {
        let held = self.facts.held.as_ref().map(|(seq, _)| *seq).filter(|_| self.random.random());
        let seq = held.or_else(|| self.facts.recent_seq(&mut self.random));
        let Some(seq) = seq.filter(|seq| self.facts.senders.contains_key(seq)) else { return };
        let at_ms = self.life.next_ms();
        let recalled = self.facts.event("message_recalled", at_ms, json!({"seq": seq.to_string()}));
        self.tell(vec![recalled]).await;
    }

    async fn change_roster(&mut self) {
        let uid = FIRST_UID + self.random.random_range(0..self.life.size.users);
        let at_ms = self.life.next_ms();
        let changed = match self.facts.present.contains(&uid) {
            true => self.facts.leave(uid, at_ms),
            false => self.facts.join(&mut self.random, uid, at_ms),
        };
        self.tell(vec![changed]).await;
    }

    async fn switch_receipts(&mut self) {
        let uid = FIRST_UID + self.random.random_range(0..self.life.size.users);
        let fields = json!({"uid": uid.to_string(), "receipts": self.random.random_bool(0.6)});
        let mut switched = self.facts.event("user_settings", self.life.next_ms(), fields);
        switched.as_object_mut().map(|fields| fields.remove("conversation_id"));
        self.tell(vec![switched]).await;
    }

    async fn change_policy(&mut self) {
        if self.number >= WITH_POLICY {
            return;
        }
        self.facts.is_off = !self.facts.is_off;
        let receipts = match (self.facts.is_off, self.random.random()) {
            (true, _) => "off",
            (false, true) => "count",
            (false, false) => "full",
        };
        let at_ms = self.life.next_ms();
        let changed = self.facts.event("conversation_policy", at_ms, json!({"receipts": receipts}));
        self.tell(vec![changed]).await;
    }

    async fn close(&mut self) {
        self.set_closed(true).await;
    }

    async fn reopen(&mut self) {
        self.set_closed(false).await;
    }

    async fn set_closed(&mut self, closed: bool) {
        if self.facts.is_closed == closed {
            return;
        }
        self.facts.is_closed = closed;
        let event = self.facts.event("conversation_closed", self.life.next_ms(), json!({"closed": closed}));
        self.tell(vec![event]).await;
    }

    /// A call of a user's own, over HTTP.
    async fn call(&self, uid: u64, path: &str, body: &Value) -> Value {
        let caller = self.life.world.server.as_user(uid, &self.life.phone(uid).endpoint);
        caller.post_until_answered(path, body).await.expect(202).json()
    }

    fn path(&self, call: &str) -> String {
        format!("/v1/conversations/{}/{call}", self.facts.id)
    }

    async fn clear(&mut self) {
        let (Some(uid), Some(seq)) =
            (self.facts.member(&mut self.random), self.facts.recent_seq(&mut self.random))
        else {
            return;
        };
        self.call(uid, &self.path("clear"), &json!({"up_to_seq": seq.to_string()})).await;
        self.life.world.oracle().cleared(&self.facts.id, uid, seq);
        self.note_flag(uid, Flag::MarkedUnread, false);
        self.count(1);
    }

    async fn set_flag(&mut self, call: &str, field: &str, flag: Flag) {
        let Some(uid) = self.facts.member(&mut self.random) else { return };
        let value: bool = self.random.random();
        self.call(uid, &self.path(call), &json!({ field: value })).await;
        self.note_flag(uid, flag, value);
        self.count(1);
    }

    fn note_flag(&self, uid: u64, flag: Flag, value: bool) {
        let at = OWN_TIMES + self.life.next_ms();
        self.life.world.oracle().flagged(&self.facts.id, uid, flag, at, value);
    }

    async fn read(&mut self) {
        let (Some(uid), Some(seq)) =
            (self.facts.member(&mut self.random), self.facts.recent_seq(&mut self.random))
        else {
            return;
        };
        let up_to = json!({"up_to_seq": seq.to_string()});
        match self.random.random_range(0..3) {
            0 => {
                let fields = json!({"uid": uid.to_string(), "endpoint": "tv", "up_to_seq": seq.to_string()});
                let event = self.facts.event("read", self.life.next_ms(), fields);
                return self.tell(vec![event]).await;
            }
            1 => drop(self.call(uid, &self.path("read"), &up_to).await),
            _ => {
                let frame =
                    json!({"type": "read", "conversation_id": self.facts.id, "up_to_seq": seq.to_string()});
                if self.ask(uid, frame).await.is_none() {
                    self.call(uid, &self.path("read"), &up_to).await;
                }
            }
        }
        self.life.world.oracle().read(&self.facts.id, uid, seq);
        self.note_flag(uid, Flag::MarkedUnread, false);
        self.count(1);
    }

    /// Acks some seqs, among them such as must be ignored, and compares which were.
    async fn ack(&mut self) {
        let Some(uid) = self.facts.member(&mut self.random) else { return };
        let count = self.random.random_range(1..=ACKED_MAX);
        let seqs: BTreeSet<u64> =
            (0..count).filter_map(|_| self.facts.recent_seq(&mut self.random)).collect();
        let (ignored, acked): (BTreeSet<u64>, BTreeSet<u64>) =
            seqs.iter().partition(|seq| self.facts.is_ignored(uid, **seq));
        if seqs.is_empty() {
            return;
        }
        let route = self.random.random_range(0..3);
        if route == 0 && !acked.is_empty() {
            let senders = &self.facts.senders;
            let messages = acked
                .iter()
                .map(|seq| json!({"seq": seq.to_string(), "sender_uid": senders[seq].to_string()}));
            let fields =
                json!({"uid": uid.to_string(), "endpoint": "tv", "messages": messages.collect::<Vec<_>>()});
            let event = self.facts.event("acked", self.life.next_ms(), fields);
            return self.tell(vec![event]).await;
        }
        let messages: Vec<Value> = seqs.iter().map(|seq| json!({"seq": seq.to_string()})).collect();
        let body = json!({"conversation_id": self.facts.id, "messages": messages});
        let mut answer = None;
        if route == 1 {
            let mut frame = body.clone();
            frame["type"] = json!("ack");
            answer = self.ask(uid, frame).await;
        }
        let answer = match answer {
            Some(answer) => answer,
            None => self.call(uid, "/v1/acks", &body).await,
        };
        let answered = answer["ignored"].as_array().map(Vec::as_slice).unwrap_or_default();
        let answered: BTreeSet<u64> =
            answered.iter().filter_map(|item| item["seq"].as_str()?.parse().ok()).collect();
        assert_eq!(answered, ignored, "user {uid} acked {seqs:?} in {}: {answer}", self.facts.id);
        let mut oracle = self.life.world.oracle();
        acked.iter().for_each(|seq| oracle.ack(&self.facts.id, uid, *seq));
        drop(oracle);
        self.count(1);
    }

    /// Over the connection of the user's first device: `None` when it must be sent again, by HTTP.
    async fn ask(&self, uid: u64, frame: Value) -> Option<Value> {
        let answer = self.life.phone(uid).ask(frame).await?;
        match answer["type"].as_str() {
            Some("ok") => Some(answer),
            _ if matches!(answer["status"].as_u64(), Some(429 | 503)) => None,
            _ if answer["problem"] == "seq-beyond-head" => None,
            _ => panic!("user {uid} in {}: {answer}", self.facts.id),
        }
    }
}
