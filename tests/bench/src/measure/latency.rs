//! From POST /v1/acks to visible in the sender's query, against a running `readmark up`.
//!
//! `cargo run --release -p readmark-bench --bin latency [-- --members 50 --acks-per-s 200 --seconds 20]`
//!
//! One group; every reader acks every message, at an even rate. For each message one poller asks for its
//! receipt again and again; an ack is visible when `read` has reached its place among the acks of the message.

use readmark_bench::{argument, quantile};
use readmark_test_harness::{Server, now_ms};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const CONVERSATION: &str = "group";
const SENDER: u64 = 1;
/// Pause between two questions of a poller; part of what is measured.
const POLL_EVERY: Duration = Duration::from_millis(1);

#[tokio::main]
async fn main() {
    let members = argument("--members", 50);
    let rate = argument("--acks-per-s", 200);
    let seconds = argument("--seconds", 20);
    let readers = members - 1;
    let messages = (rate * seconds).div_ceil(readers);
    let server = Server::fresh().await;
    prepare(&server, members, messages).await;

    let latencies = Arc::new(Mutex::new(Vec::new()));
    let mut pollers = tokio::task::JoinSet::new();
    let mut posts = tokio::task::JoinSet::new();
    let mut tick = tokio::time::interval(Duration::from_secs_f64(1.0 / rate as f64));
    for seq in 1..=messages {
        let sent = Arc::new(Mutex::new(Vec::new()));
        pollers.spawn(poll(server.clone(), seq, readers as usize, sent.clone(), latencies.clone()));
        for reader in 2..=members {
            tick.tick().await;
            let (server, sent) = (server.clone(), sent.clone());
            posts.spawn(async move {
                let body = json!({"conversation_id": CONVERSATION, "messages": [{"seq": seq.to_string()}]});
                let caller = server.as_user(reader, "phone");
                sent.lock().unwrap_or_else(|e| e.into_inner()).push(Instant::now());
                let answered = caller.post("/v1/acks", &body).await;
                assert_eq!(answered.status, 202, "{answered}");
            });
        }
    }
    posts.join_all().await;
    pollers.join_all().await;
    let mut latencies = latencies.lock().unwrap_or_else(|e| e.into_inner()).clone();
    latencies.sort_by(f64::total_cmp);
    println!("acks      {}", latencies.len());
    println!("p50 ms    {:.1}", quantile(&latencies, 0.50));
    println!("p99 ms    {:.1}", quantile(&latencies, 0.99));
    println!("max ms    {:.1}", quantile(&latencies, 1.0));
    server.terminate().await;
}

async fn prepare(server: &Server, members: u64, messages: u64) {
    let now = now_ms().to_string();
    let mut events: Vec<Value> = (1..=members)
        .map(|uid| {
            json!({"type": "member_joined", "conversation_id": CONVERSATION, "uid": uid.to_string(),
                   "at_seq": "0", "occurred_at": now})
        })
        .collect();
    events.extend((1..=messages).map(|seq| {
        json!({"type": "message_sent", "conversation_id": CONVERSATION, "seq": seq.to_string(),
               "msg_id": seq.to_string(), "sender_uid": SENDER.to_string(), "occurred_at": now})
    }));
    server.as_service().events(&events).await;
}

/// Notes for every ack of one message when it was visible.
async fn poll(
    server: Server,
    seq: u64,
    readers: usize,
    sent: Arc<Mutex<Vec<Instant>>>,
    latencies: Arc<Mutex<Vec<f64>>>,
) {
    let path = format!("/v1/conversations/{CONVERSATION}/messages/{seq}/receipt");
    let caller = server.as_user(SENDER, "desktop");
    let mut seen = 0;
    while seen < readers {
        let receipt = caller.get_until_answered(&path).await.json();
        let read: usize = receipt["read"].as_str().and_then(|text| text.parse().ok()).unwrap_or(0);
        let now = Instant::now();
        {
            let sent = sent.lock().unwrap_or_else(|e| e.into_inner());
            let mut latencies = latencies.lock().unwrap_or_else(|e| e.into_inner());
            for at in &sent[seen.min(sent.len())..read.min(sent.len())] {
                latencies.push(now.duration_since(*at).as_secs_f64() * 1_000.0);
            }
        }
        seen = seen.max(read);
        tokio::time::sleep(POLL_EVERY).await;
    }
}
