//! Appends are bounded in memory and in time while the brokers take nothing.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

mod cluster;

use bytes::Bytes;
use cluster::{Cluster, DEADLINE, Kind, create_all};
use readmark_events::Topic;
use readmark_log::kafka::{APPENDING_BYTES_MAX, KafkaLog, RECORD_BYTES_MAX};
use readmark_log::{EventLog, NewRecord, TopicPartition};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// More than what may be on its way, several times.
const APPENDS: usize = 6 * APPENDING_BYTES_MAX / RECORD_BYTES_MAX;
/// What the process may grow by beside the appends on their way: buffers of the client, the allocator's slack.
const SLACK_BYTES: usize = APPENDING_BYTES_MAX;

/// Memory of this process that is resident.
fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<usize>().unwrap() * 1024
}

/// Waits until the process has stopped growing for a second; gives its size.
async fn settled_bytes() -> usize {
    let start = Instant::now();
    let (mut last, mut since) = (resident_bytes(), Instant::now());
    while since.elapsed() < Duration::from_secs(1) {
        assert!(start.elapsed() < DEADLINE, "still growing at {last} bytes");
        tokio::time::sleep(Duration::from_millis(50)).await;
        let now = resident_bytes();
        if now > last {
            (last, since) = (now, Instant::now());
        }
    }
    last
}

#[tokio::test(flavor = "multi_thread")]
async fn appends_wait_outside_the_client_while_brokers_take_nothing() {
    let cluster = Cluster::own("limits", 19_800, Kind::default());
    let options = cluster.options();
    create_all(&options, 2).await;
    let log = KafkaLog::open(options).await.unwrap();
    // One buffer for all of them: what the process grows by is what the client holds.
    let payload = Bytes::from(vec![b'x'; RECORD_BYTES_MAX - 1024]);
    let record = |n: usize| NewRecord {
        topic: Topic::Acks,
        key: Bytes::from(n.to_string()),
        payload: payload.clone(),
        headers: Vec::new(),
    };
    log.append(vec![record(0)]).await.unwrap();
    cluster.signal(1, "-STOP");
    let before = resident_bytes();
    let mut appends = JoinSet::new();
    for n in 1..=APPENDS {
        let (log, record) = (log.clone(), record(n));
        appends.spawn(async move { log.append(vec![record]).await });
    }
    let grown = settled_bytes().await.saturating_sub(before);
    let bound = APPENDING_BYTES_MAX + SLACK_BYTES;
    assert!(grown < bound, "grown by {grown} bytes; {APPENDS} appends of {} bytes wait", payload.len());
    // Those that nobody waits for any more hold nothing: what they took is given back when it is reported.
    drop(log.append(vec![record(0)]));
    cluster.signal(1, "-CONT");
    let done = tokio::time::timeout(DEADLINE, appends.join_all()).await.expect("they go on");
    println!("grown by {} MiB with {} MiB waiting", grown >> 20, (APPENDS * payload.len()) >> 20);
    assert!(done.iter().all(Result::is_ok), "{:?}", done.iter().find(|one| one.is_err()));
    let mut stored = 0;
    for partition in 0..2 {
        stored += log.end_offset(TopicPartition { topic: Topic::Acks, partition }).await.unwrap();
    }
    assert_eq!(stored, APPENDS as u64 + 1);
}
