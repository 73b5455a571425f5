//! A group so large that its receipts are gathered for a second before the sender is told: while it reads, a window
//! is always open.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use readmark_test_harness::oracle::Oracle;
use readmark_test_harness::{Server, wait_for_answers, wait_for_devices};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

/// More than the 500 up to whom a sender is told at once.
const MEMBERS: u64 = 600;
/// Each is sent by a member of its own, so that several windows are open, on several partitions.
const MESSAGES: u64 = 3;
const FIRST_UID: u64 = 300_000;
/// Acks in one request.
const BATCH: usize = 20;
const CONVERSATION: &str = "crowd";

/// Its facts: the group with its messages, then its reads.
pub struct Crowd {
    group: Vec<Value>,
    acks: Vec<Value>,
}

impl Crowd {
    /// Every member reads most messages, in an order drawn from the seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        println!("crowd with seed {seed}");
        let mut rng = StdRng::seed_from_u64(seed);
        let mut at = readmark_test_harness::now_ms() - 600_000;
        let mut event = |kind: &str, fields: Value| {
            let mut event = fields;
            at += 1;
            event["type"] = json!(kind);
            event["conversation_id"] = json!(CONVERSATION);
            event["occurred_at"] = json!(at.to_string());
            event
        };
        let uid = |n: u64| (FIRST_UID + n).to_string();
        let mut group = Vec::new();
        for n in 0..MEMBERS {
            group.push(event("member_joined", json!({"uid": uid(n), "at_seq": "0"})));
        }
        for n in 0..MESSAGES {
            let (seq, msg_id) = ((n + 1).to_string(), (n + 1).to_string());
            group.push(event("message_sent", json!({"seq": seq, "msg_id": msg_id, "sender_uid": uid(n)})));
        }
        let mut acks = Vec::new();
        for reader in 0..MEMBERS {
            for sender in (0..MESSAGES).filter(|sender| *sender != reader) {
                if rng.random_range(0..10) > 0 {
                    let messages = json!([{"seq": (sender + 1).to_string(), "sender_uid": uid(sender)}]);
                    let fields = json!({"uid": uid(reader), "endpoint": "phone", "messages": messages});
                    acks.push(event("acked", fields));
                }
            }
        }
        acks.shuffle(&mut rng);
        Self { group, acks }
    }

    /// Joins, sends, and reads at an even pace over that time.
    pub async fn play(&self, server: &Server, over: Duration) {
        let backend = server.as_service();
        backend.events(&self.group).await;
        let started = Instant::now();
        let batches = self.acks.chunks(BATCH);
        let count = batches.len();
        for (number, batch) in batches.enumerate() {
            tokio::time::sleep_until(started + over.mul_f64(number as f64 / count as f64)).await;
            backend.events(batch).await;
        }
    }

    /// Waits until every answer and every device is right.
    pub async fn check(&self, server: &Server) {
        let mut oracle = Oracle::default();
        self.group.iter().chain(&self.acks).for_each(|event| oracle.event(event));
        wait_for_answers(server, &oracle).await;
        wait_for_devices(server, &oracle).await;
    }
}
