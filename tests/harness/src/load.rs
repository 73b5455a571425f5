//! Mixed random load with an exact end: every fact that is sent goes to the oracle too.
//!
//! Each conversation has a worker that does one thing after the other, so that its events keep their order
//! and it is known who is a member; the workers run side by side. Times only rise, across all of them.

use crate::caller::Caller;
use crate::oracle::Oracle;
use crate::server::Server;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The load's facts begin this far in the past, so that none of them lies in the future.
const STARTED_BEFORE_NOW_MS: u64 = 600_000;
/// Users of a load are numbered from here.
const FIRST_UID: u64 = 500;
/// Loads of different seeds have users and conversations of their own, so that they can run on one server.
const UIDS_PER_SEED: u64 = 10_000;
/// Most messages in one ack.
const MAX_ACKED: usize = 5;

/// How much of it.
#[derive(Debug, Clone, Copy)]
pub struct LoadSize {
    /// Conversations, which is also how many requests are under way at once.
    pub conversations: u64,
    /// Users, each of whom may be in every conversation.
    pub users: u64,
    /// Steps of each conversation.
    pub steps: u64,
}

/// Runs the load and returns what must be answered when all has been applied.
pub async fn run(server: &Server, seed: u64, size: LoadSize) -> Oracle {
    println!("load with seed {seed}: {size:?}");
    let oracle = Arc::new(Mutex::new(Oracle::default()));
    let clock = Arc::new(AtomicU64::new(crate::now_ms() - STARTED_BEFORE_NOW_MS));
    let workers = (0..size.conversations).map(|number| {
        let mut worker = Worker {
            server: server.clone(),
            backend: server.as_service(),
            rng: StdRng::seed_from_u64(seed.wrapping_mul(1_000).wrapping_add(number)),
            conversation_id: format!("load-{seed}-{number}"),
            first_uid: FIRST_UID + seed * UIDS_PER_SEED,
            users: size.users,
            clock: Arc::clone(&clock),
            oracle: Arc::clone(&oracle),
            head: 0,
            present: BTreeMap::new(),
            joined: BTreeMap::new(),
            senders: BTreeMap::new(),
            skipped: BTreeSet::new(),
        };
        tokio::spawn(async move { worker.run(size.steps).await })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap_or_else(|e| panic!("a worker of the load with seed {seed} failed: {e}"));
    }
    let oracle = oracle.lock().unwrap();
    oracle.clone()
}

struct Worker {
    server: Server,
    backend: Caller,
    rng: StdRng,
    conversation_id: String,
    first_uid: u64,
    users: u64,
    clock: Arc<AtomicU64>,
    oracle: Arc<Mutex<Oracle>>,
    head: u64,
    /// Members and the seq after which each joined last.
    present: BTreeMap<u64, u64>,
    /// The greatest seq after which each ever joined.
    joined: BTreeMap<u64, u64>,
    senders: BTreeMap<u64, u64>,
    skipped: BTreeSet<u64>,
}

impl Worker {
    async fn run(&mut self, steps: u64) {
        let members: Vec<u64> = (0..self.users).map(|n| self.first_uid + n).collect();
        let joins = members.into_iter().map(|uid| self.join(uid)).collect();
        self.tell(joins).await;
        for _ in 0..steps {
            self.step().await;
        }
    }

    async fn step(&mut self) {
        match self.rng.random_range(0..100) {
            0..35 => {
                let count = self.rng.random_range(1..=4);
                let events = (0..count).filter_map(|_| self.send()).collect();
                self.tell(events).await;
            }
            35..38 => self.recall().await,
            38..40 => self.skip().await,
            40..46 => self.change_roster().await,
            46..49 => self.switch_receipts().await,
            49..55 => self.clear().await,
            55..75 => self.ack().await,
            _ => self.read().await,
        }
    }

    fn event(&self, kind: &str, fields: Value) -> Value {
        let mut event = fields;
        event["type"] = json!(kind);
        event["conversation_id"] = json!(self.conversation_id);
        event["occurred_at"] = json!(self.clock.fetch_add(1, Ordering::Relaxed).to_string());
        event
    }

    async fn tell(&self, events: Vec<Value>) {
        if events.is_empty() {
            return;
        }
        self.backend.events(&events).await;
        let mut oracle = self.oracle.lock().unwrap();
        events.iter().for_each(|event| oracle.event(event));
    }

    fn join(&mut self, uid: u64) -> Value {
        self.present.insert(uid, self.head);
        self.joined.insert(uid, self.head);
        self.event("member_joined", json!({"uid": uid.to_string(), "at_seq": self.head.to_string()}))
    }

    fn member(&mut self) -> Option<u64> {
        let at = self.rng.random_range(0..self.present.len().max(1));
        self.present.keys().nth(at).copied()
    }

    fn some_seq(&mut self) -> Option<u64> {
        (self.head > 0).then(|| self.rng.random_range(1..=self.head))
    }

    fn send(&mut self) -> Option<Value> {
        let sender = self.member()?;
        self.head += 1;
        self.senders.insert(self.head, sender);
        let countable = self.rng.random_range(0..20) > 0;
        let msg_id = (7_000_000 + self.head).to_string();
        let fields = json!({"seq": self.head.to_string(), "msg_id": msg_id, "sender_uid": sender.to_string(), "countable": countable});
        Some(self.event("message_sent", fields))
    }

    async fn recall(&mut self) {
        let Some(seq) = self.some_seq().filter(|seq| self.senders.contains_key(seq)) else { return };
        let event = self.event("message_recalled", json!({"seq": seq.to_string()}));
        self.tell(vec![event]).await;
    }

    async fn skip(&mut self) {
        let (from, to) = (self.head + 1, self.head + self.rng.random_range(1..=3));
        self.skipped.extend(from..=to);
        self.head = to;
        let event = self.event("seq_skipped", json!({"from": from.to_string(), "to": to.to_string()}));
        self.tell(vec![event]).await;
    }

    async fn change_roster(&mut self) {
        let uid = self.first_uid + self.rng.random_range(0..self.users);
        let event = match self.present.remove(&uid) {
            Some(_) => {
                self.event("member_left", json!({"uid": uid.to_string(), "at_seq": self.head.to_string()}))
            }
            None => self.join(uid),
        };
        self.tell(vec![event]).await;
    }

    async fn switch_receipts(&mut self) {
        let uid = self.first_uid + self.rng.random_range(0..self.users);
        let on: bool = self.rng.random();
        let mut event = self.event("user_settings", json!({"uid": uid.to_string(), "receipts": on}));
        event.as_object_mut().expect("an event is an object").remove("conversation_id");
        self.tell(vec![event]).await;
    }

    async fn clear(&mut self) {
        let (Some(uid), Some(seq)) = (self.member(), self.some_seq()) else { return };
        let path = format!("/v1/conversations/{}/clear", self.conversation_id);
        let body = json!({"up_to_seq": seq.to_string()});
        let _ = self.server.as_user(uid, "web").post_until_answered(&path, &body).await.expect(202);
        self.oracle.lock().unwrap().cleared(&self.conversation_id, uid, seq);
    }

    async fn read(&mut self) {
        let (Some(uid), Some(seq)) = (self.member(), self.some_seq()) else { return };
        if self.rng.random() {
            let event = self.event(
                "read",
                json!({"uid": uid.to_string(), "endpoint": "tv", "up_to_seq": seq.to_string()}),
            );
            return self.tell(vec![event]).await;
        }
        let path = format!("/v1/conversations/{}/read", self.conversation_id);
        let body = json!({"up_to_seq": seq.to_string()});
        let _ = self.server.as_user(uid, "phone").post_until_answered(&path, &body).await.expect(202);
        self.oracle.lock().unwrap().read(&self.conversation_id, uid, seq);
    }

    /// Acks some seqs, among them such as must be ignored, and compares which were.
    async fn ack(&mut self) {
        let (Some(uid), Some(_)) = (self.member(), self.some_seq()) else { return };
        let count = self.rng.random_range(1..=MAX_ACKED);
        let seqs: BTreeSet<u64> = (0..count).filter_map(|_| self.some_seq()).collect();
        let messages: Vec<Value> = seqs.iter().map(|seq| json!({"seq": seq.to_string()})).collect();
        let body = json!({"conversation_id": self.conversation_id, "messages": messages});
        let reply =
            self.server.as_user(uid, "phone").post_until_answered("/v1/acks", &body).await.expect(202);
        let answered = reply.json();
        let ignored = answered["ignored"].as_array().map(Vec::as_slice).unwrap_or_default();
        let ignored: BTreeSet<u64> =
            ignored.iter().filter_map(|item| item["seq"].as_str()?.parse().ok()).collect();
        let must_ignore = |seq: &u64| {
            self.skipped.contains(seq) || self.senders.get(seq) == Some(&uid) || *seq <= self.joined[&uid]
        };
        let expected: BTreeSet<u64> = seqs.iter().copied().filter(must_ignore).collect();
        assert_eq!(ignored, expected, "user {uid} acked {seqs:?} in {}: {reply}", self.conversation_id);
        let mut oracle = self.oracle.lock().unwrap();
        for seq in seqs.difference(&ignored) {
            oracle.ack(&self.conversation_id, uid, *seq);
        }
    }
}
