//! What only the embedded log promises: bounds, retention, the fixed number of partitions, taking back what a
//! member does not release, and that appends whose caller goes away are heard of.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

use bytes::Bytes;
use readmark_domain::time::TimeMs;
use readmark_embedded::{Engine, EngineOptions, redb};
use readmark_events::Topic;
use readmark_log::embedded::{
    EmbeddedLog, EmbeddedLogOptions, OpenLogError, POLL_BYTES_MAX, RECORD_BYTES_MAX, RetentionRule,
    TRIM_RECORDS_MAX, default_retention,
};
use readmark_log::{EventLog, Group, LogErrorKind, NewRecord, PolledEvent, TopicPartition};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tempfile::TempDir;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const START_MS: u64 = 1_700_000_000_000;
const ACKS: TopicPartition = TopicPartition { topic: Topic::Acks, partition: 0 };

struct Fixture {
    directory: TempDir,
    now_ms: Arc<AtomicU64>,
}

impl Fixture {
    fn new() -> Self {
        Self { directory: TempDir::new().unwrap(), now_ms: Arc::new(AtomicU64::new(START_MS)) }
    }

    fn path(&self) -> std::path::PathBuf {
        self.directory.path().join("log.redb")
    }

    /// One partition a topic and a clock that stands still.
    fn options(&self) -> EmbeddedLogOptions {
        let now_ms = Arc::clone(&self.now_ms);
        EmbeddedLogOptions {
            partitions: 1,
            now: Arc::new(move || TimeMs::saturating(now_ms.load(Ordering::SeqCst))),
            ..EmbeddedLogOptions::default()
        }
    }

    async fn open(&self) -> EmbeddedLog {
        EmbeddedLog::open(self.path(), self.options()).await.unwrap()
    }

    fn pass_ms(&self, ms: u64) -> TimeMs {
        TimeMs::saturating(self.now_ms.fetch_add(ms, Ordering::SeqCst) + ms)
    }
}

fn records(topic: Topic, count: usize, payload_bytes: usize) -> Vec<NewRecord> {
    let record = NewRecord {
        topic,
        key: Bytes::from_static(b"7"),
        payload: Bytes::from(vec![b'x'; payload_bytes]),
        headers: Vec::new(),
    };
    vec![record; count]
}

#[tokio::test]
async fn the_number_of_partitions_is_fixed() {
    let fixture = Fixture::new();
    fixture.open().await.close().await.unwrap();
    let options = EmbeddedLogOptions { partitions: 4, ..fixture.options() };
    let error = EmbeddedLog::open(fixture.path(), options).await.expect_err("it has one");
    assert!(matches!(error, OpenLogError::PartitionCount { stored: 1, asked: 4, .. }), "{error}");
    for partitions in [0, 65] {
        let options = EmbeddedLogOptions { partitions, ..fixture.options() };
        let error = EmbeddedLog::open(fixture.path(), options).await.expect_err("out of bounds");
        assert!(matches!(error, OpenLogError::Partitions(_)), "{error}");
    }
    fixture.open().await;
}

#[tokio::test]
async fn a_second_log_on_the_file_is_told_that_it_is_in_use() {
    let fixture = Fixture::new();
    let log = fixture.open().await;
    let error = EmbeddedLog::open(fixture.path(), fixture.options()).await.expect_err("it is open");
    assert!(error.to_string().contains("in use"), "{error}");
    drop(log);
    fixture.open().await;
}

#[tokio::test]
async fn the_largest_record_fits_and_the_next_one_does_not() {
    let fixture = Fixture::new();
    let log = fixture.open().await;
    let fits = RECORD_BYTES_MAX - 1;
    log.append(records(Topic::Acks, 1, fits)).await.unwrap();
    let error = log.append(records(Topic::Acks, 1, fits + 1)).await.expect_err("a byte too many");
    assert_eq!(error.kind, LogErrorKind::Refused, "{error}");
    let mut long_key = records(Topic::Acks, 1, 1);
    long_key[0].key = Bytes::from(vec![b'k'; 5000]);
    let error = log.append(long_key).await.expect_err("the key is too long");
    assert_eq!(error.kind, LogErrorKind::Refused, "{error}");
    assert_eq!(log.end_offset(ACKS).await.unwrap(), 1);
}

#[tokio::test]
async fn a_poll_is_bounded_in_bytes() {
    let fixture = Fixture::new();
    let log = fixture.open().await;
    let size = 512 * 1024;
    log.append(records(Topic::Acks, 20, size)).await.unwrap();
    let mut consumer = log.join(&Group("bytes".to_owned()), &[Topic::Acks]).await.unwrap();
    let mut polls = Vec::new();
    while polls.iter().sum::<usize>() < 20 {
        match consumer.next(1000).await.unwrap() {
            PolledEvent::Records(records) => polls.push(records.len()),
            PolledEvent::Assigned(_) => {}
            PolledEvent::Revoked(_) | PolledEvent::Lost(_) | PolledEvent::Idle => panic!("only {polls:?}"),
        }
    }
    assert!(polls.iter().all(|count| *count <= POLL_BYTES_MAX / size + 1), "{polls:?}");
}

#[tokio::test]
async fn retention_removes_what_is_old_and_nothing_else() {
    let fixture = Fixture::new();
    let log = fixture.open().await;
    let old = 2 * TRIM_RECORDS_MAX + 500;
    for topic in Topic::ALL {
        log.append(records(topic, old, 10)).await.unwrap();
    }
    fixture.pass_ms(8 * DAY_MS);
    for topic in Topic::ALL {
        log.append(records(topic, 3, 10)).await.unwrap();
    }
    let rules = default_retention(90 * DAY_MS);
    let now = fixture.pass_ms(0);
    assert_eq!(log.retain(&rules, now).await.unwrap(), 2 * old as u64);
    assert_eq!(log.retain(&rules, now).await.unwrap(), 0);
    for topic in Topic::ALL {
        let partition = TopicPartition { topic, partition: 0 };
        let is_short = matches!(topic, Topic::ConversationChanged | Topic::ReadChanged);
        let start = if is_short { old as u64 } else { 0 };
        assert_eq!(log.start_offset(partition).await.unwrap(), start, "{topic}");
        assert_eq!(log.end_offset(partition).await.unwrap(), old as u64 + 3, "{topic}");
        let first = &log.read(partition, 0, 1).await.unwrap()[0];
        assert_eq!(first.position.offset, start, "a read from before the start begins at the start");
    }
    // Acks and what only announces are gone after long enough; offsets go on, also after a restart.
    let now = fixture.pass_ms(100 * DAY_MS);
    log.retain(&rules, now).await.unwrap();
    log.close().await.unwrap();
    let log = fixture.open().await;
    assert_eq!(log.start_offset(ACKS).await.unwrap(), old as u64 + 3);
    assert_eq!(log.offset_for_time(ACKS, TimeMs::ZERO).await.unwrap(), old as u64 + 3);
    assert_eq!(log.append(records(Topic::Acks, 1, 1)).await.unwrap()[0].offset, old as u64 + 3);
    let marks = TopicPartition { topic: Topic::Marks, partition: 0 };
    assert_eq!(log.start_offset(marks).await.unwrap(), 0);
}

#[tokio::test]
async fn a_group_whose_records_are_gone_goes_on_at_the_oldest() {
    let fixture = Fixture::new();
    let log = fixture.open().await;
    let group = Group("late".to_owned());
    log.append(records(Topic::Acks, 10, 1)).await.unwrap();
    let mut consumer = log.join(&group, &[Topic::Acks]).await.unwrap();
    while !matches!(consumer.next(1000).await.unwrap(), PolledEvent::Records(_)) {}
    consumer.commit(&[(ACKS, 2)]).await.unwrap();
    consumer.close().await.unwrap();
    let later = fixture.pass_ms(DAY_MS);
    log.append(records(Topic::Acks, 1, 1)).await.unwrap();
    let rule = RetentionRule { topic: Topic::Acks, keep_ms: 0 };
    assert_eq!(log.retain(&[rule], later).await.unwrap(), 10);
    let mut consumer = log.join(&group, &[Topic::Acks]).await.unwrap();
    assert!(matches!(consumer.next(1000).await.unwrap(), PolledEvent::Assigned(_)));
    let PolledEvent::Records(found) = consumer.next(1000).await.unwrap() else { panic!("no records") };
    assert_eq!(found[0].position.offset, 10);
}

#[tokio::test]
async fn times_do_not_fall_when_the_clock_is_set_back() {
    let fixture = Fixture::new();
    let log = fixture.open().await;
    log.append(records(Topic::Acks, 1, 1)).await.unwrap();
    fixture.now_ms.store(START_MS - 5000, Ordering::SeqCst);
    log.append(records(Topic::Acks, 1, 1)).await.unwrap();
    log.close().await.unwrap();
    let log = fixture.open().await;
    log.append(records(Topic::Acks, 1, 1)).await.unwrap();
    let times: Vec<u64> =
        log.read(ACKS, 0, 10).await.unwrap().iter().map(|record| record.appended_at.get()).collect();
    assert_eq!(times, [START_MS; 3]);
    assert_eq!(log.offset_for_time(ACKS, TimeMs::saturating(START_MS)).await.unwrap(), 0);
    assert_eq!(log.offset_for_time(ACKS, TimeMs::saturating(START_MS + 1)).await.unwrap(), 3);
}

#[tokio::test]
async fn what_a_member_does_not_release_in_time_is_taken() {
    let fixture = Fixture::new();
    let options =
        EmbeddedLogOptions { partitions: 2, revoke_within: Duration::from_millis(50), ..fixture.options() };
    let log = EmbeddedLog::open(fixture.path(), options).await.unwrap();
    let group = Group("slow".to_owned());
    let mut slow = log.join(&group, &[Topic::Acks]).await.unwrap();
    assert!(matches!(slow.next(1000).await.unwrap(), PolledEvent::Assigned(all) if all.len() == 2));
    let mut next = log.join(&group, &[Topic::Acks]).await.unwrap();
    // The slow member does nothing: the other must get its share within the wait all the same.
    let PolledEvent::Assigned(taken) = next.next(20_000).await.unwrap() else { panic!("nothing taken") };
    assert_eq!(taken.len(), 1);
    assert!(matches!(slow.next(0).await.unwrap(), PolledEvent::Lost(lost) if lost == taken));
    let error = slow.commit(&[(taken[0], 1)]).await.expect_err("it is lost");
    assert_eq!(error.kind, LogErrorKind::NotOwner, "{error}");
    next.commit(&[(taken[0], 1)]).await.unwrap();
}

#[tokio::test]
async fn an_append_whose_caller_goes_away_is_heard_of() {
    let fixture = Fixture::new();
    let log = fixture.open().await;
    let mut consumer = log.join(&Group("heard".to_owned()), &[Topic::Acks]).await.unwrap();
    assert!(matches!(consumer.next(1000).await.unwrap(), PolledEvent::Assigned(_)));
    {
        let append = log.append(records(Topic::Acks, 1, 1));
        tokio::pin!(append);
        // Polled once, so that it has begun, then dropped.
        tokio::select! {
            biased;
            _ = &mut append => panic!("it can't be durable at once"),
            () = std::future::ready(()) => {}
        }
    }
    let event = consumer.next(20_000).await.unwrap();
    assert!(matches!(&event, PolledEvent::Records(records) if records.len() == 1), "{event:?}");
}

/// Positions are not synced one by one, so a handle that fails may take the last ones back.
#[tokio::test]
async fn a_member_stores_again_what_a_failed_handle_has_lost() {
    let fixture = Fixture::new();
    let engine = Engine::open(fixture.path(), &EngineOptions::default()).unwrap();
    let log = EmbeddedLog::on(engine.clone(), fixture.options()).await.unwrap();
    let group = Group("again".to_owned());
    log.append(records(Topic::Acks, 10, 1)).await.unwrap();
    let mut consumer = log.join(&group, &[Topic::Acks]).await.unwrap();
    while !matches!(consumer.next(1000).await.unwrap(), PolledEvent::Records(_)) {}
    consumer.commit(&[(ACKS, 7)]).await.unwrap();
    let raw = redb::TableDefinition::<&[u8], &[u8]>::new("log_positions");
    engine.write("lose", move |txn| Ok(txn.open_table(raw)?.retain(|_, _| false)?)).await.unwrap();
    engine.write::<(), _>("fail", |_| panic!("on purpose")).await.expect_err("it panics");
    let start = std::time::Instant::now();
    while log.probe().await.is_err() {
        assert!(start.elapsed() < Duration::from_secs(30), "the engine does not recover");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(matches!(consumer.next(0).await.unwrap(), PolledEvent::Idle));
    assert_eq!(log.committed(&group, ACKS).await.unwrap(), Some(7));
}

/// A flipped bit is reported as damage with table and key, and never handed over as a record.
#[tokio::test]
async fn a_damaged_record_is_named() {
    let fixture = Fixture::new();
    let log = fixture.open().await;
    log.append(records(Topic::Acks, 3, 50)).await.unwrap();
    log.close().await.unwrap();
    let engine = Engine::open(fixture.path(), &EngineOptions::default()).unwrap();
    let raw = redb::TableDefinition::<&[u8], &[u8]>::new("log_records");
    engine
        .write("damage", move |txn| {
            let mut table = txn.open_table(raw)?;
            let (key, mut value) = {
                let mut range = redb::ReadableTable::range::<&[u8]>(&table, ..)?;
                let (key, value) = range.nth(1).expect("three records")?;
                (key.value().to_vec(), value.value().to_vec())
            };
            let middle = value.len() / 2;
            value[middle] ^= 0x10;
            table.insert(key.as_slice(), value.as_slice())?;
            Ok(())
        })
        .await
        .unwrap();
    engine.close().await.unwrap();
    let log = fixture.open().await;
    assert_eq!(log.read(ACKS, 0, 1).await.unwrap().len(), 1);
    let error = log.read(ACKS, 0, 10).await.expect_err("the second is damaged");
    assert_eq!(error.kind, LogErrorKind::Corrupt, "{error}");
    let words = error.to_string();
    assert!(words.contains("log_records") && words.contains("02000000000000000000000001"), "{words}");
    assert!(words.contains("acks/0"), "{words}");
    assert_eq!(log.read(ACKS, 2, 10).await.unwrap().len(), 1, "what is behind it can be read");
}
