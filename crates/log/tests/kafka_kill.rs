//! `kill -9` of the broker in the middle of appends: nothing is lost, nothing doubled, nothing out of order.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

mod cluster;

use bytes::Bytes;
use cluster::{Cluster, create_all};
use readmark_events::Topic;
use readmark_log::kafka::KafkaLog;
use readmark_log::{EventLog, Group, NewRecord, PolledEvent, TopicPartition};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const APPENDERS: usize = 4;
const KILLS: usize = 2;
/// Far beyond what a broker needs to come back.
const DEADLINE: Duration = Duration::from_secs(120);
/// The first port of the cluster of this test.
const PORT: u16 = 19_500;

/// Appends until told to stop, each record once its predecessor is acknowledged; gives how many.
async fn append(log: KafkaLog, appender: usize, stop: Arc<AtomicBool>, done: Arc<AtomicUsize>) -> usize {
    let mut n = 0;
    while !stop.load(Ordering::Relaxed) {
        let records = (n..n + 10)
            .map(|n| NewRecord {
                topic: Topic::Acks,
                key: Bytes::from(appender.to_string()),
                payload: Bytes::from(n.to_string()),
                headers: Vec::new(),
            })
            .collect();
        log.append(records).await.expect("an append rides through");
        n += 10;
        done.fetch_add(10, Ordering::Relaxed);
    }
    n
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < DEADLINE, "{what}: not within {DEADLINE:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_killed_loses_doubles_and_reorders_nothing() {
    let cluster = Arc::new(Cluster::own("kill-test", PORT));
    let options = cluster.options();
    create_all(&options, 2).await;
    let log = KafkaLog::open(options).await.unwrap();
    let mut consumer = log.join(&Group("kill".to_owned()), &[Topic::Acks]).await.unwrap();
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let appenders: Vec<_> = (0..APPENDERS)
        .map(|appender| tokio::spawn(append(log.clone(), appender, Arc::clone(&stop), Arc::clone(&done))))
        .collect();
    for kill in 0..KILLS {
        let before = done.load(Ordering::Relaxed);
        until("records before the kill", || done.load(Ordering::Relaxed) > before + 500).await;
        let (cluster, killed) = (Arc::clone(&cluster), Instant::now());
        tokio::task::spawn_blocking(move || {
            cluster.kill();
            cluster.start();
        })
        .await
        .unwrap();
        let at_start = done.load(Ordering::Relaxed);
        until("records after the restart", || done.load(Ordering::Relaxed) > at_start + 100).await;
        println!("kill {kill}: appends go on after {:?}", killed.elapsed());
    }
    stop.store(true, Ordering::Relaxed);
    let mut appended = Vec::new();
    for appender in appenders {
        appended.push(appender.await.unwrap());
    }
    let total: usize = appended.iter().sum();
    // What lies in the log is exactly what was acknowledged.
    let mut found: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for partition in 0..log.partitions(Topic::Acks) {
        let at = TopicPartition { topic: Topic::Acks, partition };
        let mut next = 0;
        loop {
            let records = log.read(at, next, 500).await.unwrap();
            let Some(last) = records.last() else { break };
            next = last.position.offset + 1;
            for record in records {
                let key: usize = std::str::from_utf8(record.key.as_ref().unwrap()).unwrap().parse().unwrap();
                found
                    .entry(key)
                    .or_default()
                    .push(std::str::from_utf8(&record.payload).unwrap().parse().unwrap());
            }
        }
    }
    for (appender, count) in appended.iter().enumerate() {
        assert!(found[&appender].iter().copied().eq(0..*count), "appender {appender} of {count} records");
    }
    // The member has ridden through, too, and its group goes on.
    let mut seen = std::collections::BTreeSet::new();
    let start = Instant::now();
    while seen.len() < total {
        assert!(start.elapsed() < DEADLINE, "{} of {total} records came", seen.len());
        match consumer.next(100).await.unwrap() {
            PolledEvent::Records(records) => seen.extend(records.iter().map(|record| record.position)),
            PolledEvent::Lost(lost) => println!("lost {lost:?}"),
            PolledEvent::Assigned(_) | PolledEvent::Revoked(_) | PolledEvent::Idle => {}
        }
    }
    consumer.close().await.unwrap();
    drop(log);
    cluster.down();
}
