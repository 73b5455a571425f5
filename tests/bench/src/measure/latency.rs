//! From POST /v1/acks to visible in the sender's query, one process with all roles.
//!
//! `scripts/bench latency [--full] [--members 50] [--acks-per-s 200] [--seconds 20]`
//!
//! One group; every reader acks every message, at an even rate. For each message one poller asks for its
//! receipt again and again; an ack is visible when `read` has reached its place among the acks of the message.

use crate::acks::{AckTimes, Poster};
use crate::arguments::{argument, parts, say_machine};
use crate::group::{Group, SENDER, number};
use crate::latencies::Latencies;
use readmark_test_harness::{DEADLINE, Server};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Pause between two questions of a poller; part of what is measured.
const POLL_EVERY: Duration = Duration::from_millis(1);

pub async fn run() {
    let members = argument("--members", 50);
    let rate = argument("--acks-per-s", 200);
    let seconds = argument("--seconds", 20);
    say_machine(&format!("a group of {members}, {rate} acks/s"));
    let messages = (rate * seconds).div_ceil(members - 1);
    let server = Server::start(parts()).await;
    let group = Group::create(&server, "group", members, messages).await;

    let times = AckTimes::default();
    let mut poster = Poster::new(&server, &group, rate, &times);
    let mut pollers = JoinSet::new();
    for seq in 1..=messages {
        pollers.spawn(poll(server.clone(), group.clone(), seq, times.clone()));
        poster.message(seq).await;
    }
    poster.answered().await;
    pollers.join_all().await;
    Latencies::heading();
    times.latencies.row("POST /v1/acks to visible in the receipt");
    server.terminate().await;
}

/// Asks until all acks of a message show.
async fn poll(server: Server, group: Group, seq: u64, times: AckTimes) {
    let path = format!("/v1/conversations/{}/messages/{seq}/receipt", group.id);
    let caller = server.as_user(SENDER, "desktop");
    let (mut known, mut changed) = (0, Instant::now());
    while known + 1 < group.members as usize {
        let receipt = caller.get_until_answered(&path).await.json();
        let before = known;
        known = times.known(seq, number(&receipt["read"]).unwrap_or(0) as usize);
        if known > before {
            changed = Instant::now();
        }
        assert!(
            changed.elapsed() < DEADLINE,
            "{path}: no further ack within {DEADLINE:?}; last seen: {receipt}"
        );
        tokio::time::sleep(POLL_EVERY).await;
    }
}
