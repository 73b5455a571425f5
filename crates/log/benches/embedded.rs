//! How many records a second the embedded log appends and reads: `cargo bench -p readmark-log`.
#![allow(clippy::expect_used, reason = "a benchmark that can't run stops")]

use bytes::Bytes;
use readmark_events::Topic;
use readmark_log::embedded::{EmbeddedLog, EmbeddedLogOptions};
use readmark_log::{EventLog, Group, NewRecord, PolledEvent, TopicPartition};
use std::time::{Duration, Instant};

/// Like an ack: 200 bytes of JSON.
const PAYLOAD_BYTES: usize = 200;
const RUN: Duration = Duration::from_secs(3);

fn record(key: usize) -> NewRecord {
    NewRecord {
        topic: Topic::Acks,
        key: Bytes::from(key.to_string()),
        payload: Bytes::from(vec![b'x'; PAYLOAD_BYTES]),
        headers: Vec::new(),
    }
}

async fn append(log: &EmbeddedLog, in_flight: usize, per_append: usize) -> u64 {
    let start = Instant::now();
    let tasks: Vec<_> = (0..in_flight)
        .map(|task| {
            let log = log.clone();
            tokio::spawn(async move {
                let mut latencies = Vec::new();
                while start.elapsed() < RUN {
                    let records = (0..per_append).map(|n| record(task * per_append + n)).collect();
                    let began = Instant::now();
                    log.append(records).await.expect("append");
                    latencies.push(began.elapsed());
                }
                latencies
            })
        })
        .collect();
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await.expect("an appender"));
    }
    let seconds = start.elapsed().as_secs_f64();
    latencies.sort();
    let records = (latencies.len() * per_append) as u64;
    let at = |part: f64| latencies[((latencies.len() - 1) as f64 * part) as usize];
    println!(
        "append {in_flight:>3} in flight, {per_append:>3} a call: {:>8.0} records/s, p50 {:?}, p99 {:?}",
        records as f64 / seconds,
        at(0.5),
        at(0.99)
    );
    records
}

#[tokio::main]
async fn main() {
    let directory = tempfile::TempDir::new_in(".").expect("a directory");
    let path = directory.path().join("log.redb");
    let log = EmbeddedLog::open(&path, EmbeddedLogOptions::default()).await.expect("open");
    let mut total = 0;
    for in_flight in [1, 16, 256] {
        total += append(&log, in_flight, 1).await;
    }
    total += append(&log, 4, 250).await;
    let file_bytes = std::fs::metadata(&path).expect("the file").len();
    println!("{total} records of {PAYLOAD_BYTES} bytes, file {} bytes a record", file_bytes / total);

    let start = Instant::now();
    let mut read = 0;
    for partition in 0..log.partitions(Topic::Acks) {
        let at = TopicPartition { topic: Topic::Acks, partition };
        let mut next = 0;
        loop {
            let records = log.read(at, next, 500).await.expect("read");
            let Some(last) = records.last() else { break };
            next = last.position.offset + 1;
            read += records.len();
        }
    }
    println!("read outside groups: {:>8.0} records/s", read as f64 / start.elapsed().as_secs_f64());

    let start = Instant::now();
    let mut consumer = log.join(&Group("bench".to_owned()), &[Topic::Acks]).await.expect("join");
    let mut consumed = 0;
    loop {
        match consumer.next(0).await.expect("next") {
            PolledEvent::Records(records) => consumed += records.len(),
            PolledEvent::Idle => break,
            PolledEvent::Assigned(_) | PolledEvent::Revoked(_) | PolledEvent::Lost(_) => {}
        }
    }
    println!("consume in a group: {:>8.0} records/s", consumed as f64 / start.elapsed().as_secs_f64());
    assert_eq!((read as u64, consumed as u64), (total, total), "every record is read once");
}
