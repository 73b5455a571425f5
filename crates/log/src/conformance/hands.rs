//! What the cases have in common.

use crate::port::{Consumer, EventLog, Group, PolledEvent};
use crate::record::{NewRecord, Offset, Partition, Position, Record, TopicPartition};
use bytes::Bytes;
use readmark_events::Topic;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How long anything may take; far beyond what is needed, so that only what never comes fails.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// The topic of most cases.
pub const TOPIC: Topic = Topic::Acks;

pub fn group(name: &str) -> Group {
    Group(format!("conformance.{name}"))
}

pub fn record(key: &str, payload: impl Into<Vec<u8>>) -> NewRecord {
    NewRecord {
        topic: TOPIC,
        key: Bytes::from(key.to_owned()),
        payload: Bytes::from(payload.into()),
        headers: Vec::new(),
    }
}

/// A key that the partitioner puts there.
pub fn key_in(log: &dyn EventLog, partition: Partition) -> String {
    (0..)
        .map(|n: u32| format!("key-{n}"))
        .find(|key| log.partition_of(TOPIC, key.as_bytes()) == partition)
        .expect("numbers do not end")
}

pub fn at(partition: Partition) -> TopicPartition {
    TopicPartition { topic: TOPIC, partition }
}

/// `count` records for one partition, with their number as payload.
pub async fn fill(log: &dyn EventLog, partition: Partition, count: usize) -> Vec<Position> {
    let key = key_in(log, partition);
    let records = (0..count).map(|n| record(&key, n.to_string())).collect();
    log.append(records).await.expect("append")
}

/// `count` records for every partition.
pub async fn fill_all(log: &dyn EventLog, count: usize) -> BTreeSet<Position> {
    let mut all = BTreeSet::new();
    for partition in 0..log.partitions(TOPIC) {
        all.extend(fill(log, partition, count).await);
    }
    all
}

/// Everything in a partition from `from` on.
pub async fn read_all(log: &dyn EventLog, partition: Partition, from: Offset) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    loop {
        let next = records.last().map_or(from, |record| record.position.offset + 1);
        let more = log.read(at(partition), next, 100).await.expect("read");
        if more.is_empty() {
            return records;
        }
        records.extend(more);
    }
}

/// Takes records until there are `count`; fails when the deadline passes or more come.
pub async fn take_records(consumer: &mut dyn Consumer, count: usize) -> Vec<Record> {
    let mut records = Vec::new();
    let mut others = Vec::new();
    let start = Instant::now();
    while records.len() < count {
        assert!(
            start.elapsed() < DEADLINE,
            "{} of {count} records within {DEADLINE:?}; besides: {others:?}",
            records.len()
        );
        match consumer.next(200).await.expect("next") {
            PolledEvent::Records(more) => records.extend(more),
            PolledEvent::Idle => {}
            other => others.push(other),
        }
    }
    assert_eq!(records.len(), count, "more records than were appended");
    records
}

/// Waits until the consumer has been assigned `count` partitions.
pub async fn take_assigned(consumer: &mut dyn Consumer, count: usize) -> BTreeSet<TopicPartition> {
    let mut assigned = BTreeSet::new();
    let start = Instant::now();
    while assigned.len() < count {
        assert!(start.elapsed() < DEADLINE, "only {assigned:?} assigned within {DEADLINE:?}");
        match consumer.next(200).await.expect("next") {
            PolledEvent::Assigned(more) => assigned.extend(more),
            PolledEvent::Idle => {}
            other => panic!("assigned {assigned:?}, then {other:?}"),
        }
    }
    assigned
}

/// Waits until the group's stored position is that one.
pub async fn expect_stored(log: &dyn EventLog, group: &Group, partition: Partition, next: Offset) {
    let start = Instant::now();
    loop {
        let stored = log.committed(group, at(partition)).await.expect("committed");
        if stored == Some(next) {
            return;
        }
        assert!(start.elapsed() < DEADLINE, "{stored:?} is stored and not {next} within {DEADLINE:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Nothing comes, for a while.
pub async fn expect_nothing(consumer: &mut dyn Consumer) {
    match consumer.next(300).await.expect("next") {
        PolledEvent::Idle => {}
        other => panic!("nothing was to come, but {other:?}"),
    }
}

/// The next offset of each partition that these records are of.
pub fn next_offsets(records: &[Record]) -> Vec<(TopicPartition, Offset)> {
    let mut next = std::collections::BTreeMap::new();
    for record in records {
        next.insert(record.position.partition, record.position.offset + 1);
    }
    next.into_iter().collect()
}
