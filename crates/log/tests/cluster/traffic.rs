//! Appends and reads that go on while brokers die, and what must be so afterwards.

use super::DEADLINE;
use bytes::Bytes;
use readmark_events::Topic;
use readmark_log::kafka::KafkaLog;
use readmark_log::{Consumer, EventLog, Group, NewRecord, Offset, PolledEvent, TopicPartition};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

const TOPIC: Topic = Topic::Acks;
/// Records of one append.
const APPEND_RECORDS: usize = 10;

#[derive(Default)]
struct Appender {
    /// Records that were acknowledged.
    done: AtomicUsize,
    /// The longest append since the last look.
    slowest_ms: AtomicU64,
}

/// One appender for each partition, each of whose appends waits for the one before it, and one member of a group.
pub struct Traffic {
    log: KafkaLog,
    stop: Arc<AtomicBool>,
    appenders: Vec<Arc<Appender>>,
    appending: Vec<JoinHandle<()>>,
    seen: Seen,
    consuming: JoinHandle<Box<dyn Consumer>>,
}

/// How often each record came.
type Seen = Arc<Mutex<BTreeMap<(u32, Offset), usize>>>;

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < DEADLINE, "{what}: not within {DEADLINE:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn append(log: KafkaLog, key: String, stop: Arc<AtomicBool>, appender: Arc<Appender>) {
    let mut n = 0;
    while !stop.load(Ordering::Relaxed) {
        let records = (n..n + APPEND_RECORDS)
            .map(|n| NewRecord {
                topic: TOPIC,
                key: Bytes::from(key.clone()),
                payload: Bytes::from(n.to_string()),
                headers: Vec::new(),
            })
            .collect();
        let begun = Instant::now();
        log.append(records).await.expect("an append rides through");
        let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        appender.slowest_ms.fetch_max(took, Ordering::Relaxed);
        n += APPEND_RECORDS;
        appender.done.store(n, Ordering::Relaxed);
    }
}

async fn consume(mut consumer: Box<dyn Consumer>, stop: Arc<AtomicBool>, seen: Seen) -> Box<dyn Consumer> {
    while !stop.load(Ordering::Relaxed) {
        take(&mut *consumer, &seen).await;
    }
    consumer
}

async fn take(consumer: &mut dyn Consumer, seen: &Seen) {
    match consumer.next(100).await.expect("a member rides through") {
        PolledEvent::Records(records) => {
            let mut seen = seen.lock().expect("no panic");
            for record in records {
                let position = record.position;
                *seen.entry((position.partition.partition, position.offset)).or_default() += 1;
            }
        }
        PolledEvent::Lost(lost) => println!("lost {lost:?}"),
        PolledEvent::Assigned(_) | PolledEvent::Revoked(_) | PolledEvent::Idle => {}
    }
}

impl Traffic {
    pub async fn start(log: KafkaLog) -> Self {
        let consumer = log.join(&Group("traffic".to_owned()), &[TOPIC]).await.expect("a member");
        let (stop, seen): (Arc<AtomicBool>, Seen) = (Arc::default(), Arc::default());
        let consuming = tokio::spawn(consume(consumer, Arc::clone(&stop), Arc::clone(&seen)));
        let mut traffic = Self { log, stop, appenders: Vec::new(), appending: Vec::new(), seen, consuming };
        for partition in 0..traffic.log.partitions(TOPIC) {
            let mut keys = (0_u32..).map(|n| n.to_string());
            let key = keys.find(|key| traffic.log.partition_of(TOPIC, key.as_bytes()) == partition);
            let appender = Arc::new(Appender::default());
            traffic.appenders.push(Arc::clone(&appender));
            let stop = Arc::clone(&traffic.stop);
            let task = append(traffic.log.clone(), key.expect("a key"), stop, appender);
            traffic.appending.push(tokio::spawn(task));
        }
        traffic
    }

    fn done(&self) -> Vec<usize> {
        self.appenders.iter().map(|appender| appender.done.load(Ordering::Relaxed)).collect()
    }

    fn seen(&self) -> usize {
        self.seen.lock().expect("no panic").len()
    }

    /// Waits until every partition has so many more records, and the member has seen as many.
    pub async fn goes_on(&self, what: &str, records: usize) {
        let (before, seen) = (self.done(), self.seen());
        until(what, || self.done().iter().zip(&before).all(|(now, before)| *now >= before + records)).await;
        until(what, || self.seen() >= seen + records).await;
    }

    /// The longest append since the last call.
    pub fn slowest(&self) -> Duration {
        let slowest =
            self.appenders.iter().map(|appender| appender.slowest_ms.swap(0, Ordering::Relaxed)).max();
        Duration::from_millis(slowest.unwrap_or(0))
    }

    /// Ends it. What lies in the log must be exactly what was acknowledged, in order, and all of it must have come.
    pub async fn ends_exactly(self) {
        self.stop.store(true, Ordering::Relaxed);
        for appending in self.appending {
            appending.await.expect("no panic");
        }
        let mut stored = BTreeMap::new();
        for (partition, appender) in (0..).zip(&self.appenders) {
            let numbers = numbers(&self.log, TopicPartition { topic: TOPIC, partition }).await;
            let done = appender.done.load(Ordering::Relaxed);
            assert!(
                numbers.iter().copied().eq(0..done),
                "partition {partition} of {done} records: {numbers:?}"
            );
            stored.insert(partition, done);
        }
        let mut consumer = self.consuming.await.expect("no panic");
        let total: usize = stored.values().sum();
        let start = Instant::now();
        while self.seen.lock().expect("no panic").len() < total {
            assert!(start.elapsed() < DEADLINE, "not all of {total} records came");
            take(&mut *consumer, &self.seen).await;
        }
        consumer.close().await.expect("leave");
        let twice = self.seen.lock().expect("no panic").values().filter(|times| **times > 1).count();
        println!("{total} records; {twice} came more than once");
    }
}

/// What the records of a partition say, in their order.
async fn numbers(log: &KafkaLog, at: TopicPartition) -> Vec<usize> {
    let (mut numbers, mut next) = (Vec::new(), 0);
    loop {
        let records = log.read(at, next, 500).await.expect("read");
        let Some(last) = records.last() else { return numbers };
        next = last.position.offset + 1;
        let of =
            |payload: &[u8]| std::str::from_utf8(payload).expect("text").parse::<usize>().expect("a number");
        numbers.extend(records.iter().map(|record| of(&record.payload)));
    }
}
