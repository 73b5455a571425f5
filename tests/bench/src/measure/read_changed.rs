//! From POST /v1/acks to the `message_read` in the topic `read-changed`, on Kafka, Cassandra and Redis; one process with
//! all roles.
//!
//! `scripts/bench read-changed [--members 50] [--acks-per-s 200] [--seconds 20]`
//!
//! One group; every reader acks every message, at an even rate. A consumer follows the topic as an IM backend does.

use crate::acks::{AckTimes, Poster};
use crate::arguments::{argument, say_machine};
use crate::group::{Group, number};
use crate::latencies::Latencies;
use readmark_events::Topic;
use readmark_log::{Consumer, EventLog, PolledEvent};
use readmark_test_harness::{DEADLINE, Options, Server, wait_until};

/// How long the consumer waits for records at once.
const POLL_MS: u64 = 100;

pub async fn run() {
    let members = argument("--members", 50);
    let rate = argument("--acks-per-s", 200);
    let seconds = argument("--seconds", 20);
    say_machine(&format!("a group of {members}, {rate} acks/s, full parts"));
    let messages = (rate * seconds).div_ceil(members - 1);
    let server = Server::start(Options::full()).await;
    let group = Group::create(&server, "group", members, messages).await;

    let times = AckTimes::default();
    let following = tokio::spawn(follow(consumer(&server).await, times.clone()));
    let mut poster = Poster::new(&server, &group, rate, &times);
    for seq in 1..=messages {
        poster.message(seq).await;
    }
    poster.answered().await;
    let acks = (messages * (members - 1)) as usize;
    wait_until(DEADLINE, "every ack to be told", || async {
        let told = times.latencies.count();
        if told == acks { Ok(()) } else { Err(format!("{told} of {acks}")) }
    })
    .await;
    following.abort();
    Latencies::heading();
    times.latencies.row("POST /v1/acks to message_read in read-changed");
    server.terminate().await;
}

/// A consumer of the topic that has its partitions.
async fn consumer(server: &Server) -> Box<dyn Consumer> {
    let group = readmark_log::Group(format!("{}.bench", server.name()));
    let joined = server.log().await.join(&group, &[Topic::ReadChanged]).await;
    let mut consumer = joined.unwrap_or_else(|e| panic!("{e}"));
    loop {
        if let PolledEvent::Assigned(_) = consumer.next(POLL_MS).await.unwrap_or_else(|e| panic!("{e}")) {
            return consumer;
        }
    }
}

async fn follow(mut consumer: Box<dyn Consumer>, times: AckTimes) {
    loop {
        let polled = consumer.next(POLL_MS).await.unwrap_or_else(|e| panic!("{e}"));
        let PolledEvent::Records(records) = polled else { continue };
        for record in records {
            let told: serde_json::Value = serde_json::from_slice(&record.payload).unwrap_or_default();
            if told["kind"] == "message_read"
                && let (Some(seq), Some(read)) = (number(&told["seq"]), number(&told["read"]))
            {
                times.known(seq, read as usize);
            }
        }
    }
}
