//! `kill -9` in the middle of appends: what was acknowledged is there, in order, whole.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

use bytes::Bytes;
use readmark_events::Topic;
use readmark_log::embedded::{EmbeddedLog, EmbeddedLogOptions};
use readmark_log::{EventLog, Group, NewRecord, Offset, PolledEvent, Record, TopicPartition};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Set for the child process: the log it appends to.
const CHILD_LOG: &str = "READMARK_TEST_CHILD_LOG";
const APPENDERS: usize = 8;
const KILLS: usize = 6;
/// Of the topic, as the log makes it.
const PARTITIONS: usize = 4;

fn group() -> Group {
    Group("kill".to_owned())
}

/// Payload that can't be torn without being seen: its number again and again, of a length that varies.
fn payload(appender: usize, n: usize) -> String {
    format!("{appender}:{n};").repeat(1 + (n * 37) % 400)
}

fn record(appender: usize, n: usize) -> NewRecord {
    NewRecord {
        topic: Topic::Acks,
        key: Bytes::from(appender.to_string()),
        payload: Bytes::from(payload(appender, n)),
        headers: vec![("n".to_owned(), n.to_string())],
    }
}

/// Not a test of its own: the process that is killed. It prints a line for each record that was acknowledged.
#[test]
fn child() {
    let Ok(path) = std::env::var(CHILD_LOG) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let log = EmbeddedLog::open(path, EmbeddedLogOptions::default()).await.unwrap();
        let mut tasks = tokio::task::JoinSet::new();
        for appender in 0..APPENDERS {
            let log = log.clone();
            tasks.spawn(async move {
                for n in 0.. {
                    let position = log.append(vec![record(appender, n)]).await.unwrap()[0];
                    let line =
                        format!("ACK {appender} {n} {} {}\n", position.partition.partition, position.offset);
                    // One write a line; straight to the descriptor, since the test harness captures `print!`.
                    std::io::stderr().write_all(line.as_bytes()).unwrap();
                }
            });
        }
        let mut consumer = log.join(&group(), &[Topic::Acks]).await.unwrap();
        tasks.spawn(async move {
            let mut committed = BTreeSet::new();
            loop {
                if let PolledEvent::Records(records) = consumer.next(1000).await.unwrap() {
                    for Record { position, .. } in records {
                        consumer.commit(&[(position.partition, position.offset + 1)]).await.unwrap();
                        // Only the first of each partition is waited for.
                        if committed.insert(position.partition.partition) {
                            let line = format!("COMMIT {}\n", position.partition.partition);
                            std::io::stderr().write_all(line.as_bytes()).unwrap();
                        }
                    }
                }
            }
        });
        tasks.join_next().await.unwrap().unwrap();
    });
}

/// Lets a child append until it has acknowledged `count` records, and its consumer has committed in so many partitions;
/// kills it, and gives all acknowledgements.
fn append_and_kill(path: &Path, count: usize, partitions: usize) -> Vec<[u64; 4]> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(CHILD_LOG, path)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut acknowledged, mut committed) = (Vec::new(), 0);
    for line in BufReader::new(child.stderr.take().unwrap()).split(b'\n') {
        let line = String::from_utf8(line.unwrap()).unwrap();
        match line.split_once(' ') {
            Some(("ACK", numbers)) => {
                let numbers: Vec<u64> = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
                acknowledged.push(numbers.try_into().unwrap());
            }
            Some(("COMMIT", _)) => committed += 1,
            _ => panic!("the child says {line}"),
        }
        if acknowledged.len() >= count && committed >= partitions {
            child.kill().unwrap();
        }
    }
    let status = child.wait().unwrap();
    assert!(!status.success(), "the child was to be killed");
    acknowledged
}

#[tokio::test]
async fn what_was_acknowledged_survives_kill_9() {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("log.redb");
    let mut starts: BTreeMap<u32, Offset> = BTreeMap::new();
    let mut positions: BTreeMap<u32, Offset> = BTreeMap::new();
    for kill in 0..KILLS {
        let child_path = path.clone();
        // The last one has committed everywhere, however slow the machine is.
        let partitions = if kill + 1 == KILLS { PARTITIONS } else { 0 };
        let append = move || append_and_kill(&child_path, 200 + 150 * kill, partitions);
        let acknowledged = tokio::task::spawn_blocking(append).await.unwrap();
        assert!(acknowledged.len() >= 200);
        let log = EmbeddedLog::open(&path, EmbeddedLogOptions::default()).await.unwrap();
        let mut found: BTreeMap<(u32, Offset), (usize, usize)> = BTreeMap::new();
        for partition in 0..log.partitions(Topic::Acks) {
            check_partition(&log, partition, &mut starts, &mut found).await;
            let at = TopicPartition { topic: Topic::Acks, partition };
            let position = log.committed(&group(), at).await.unwrap().unwrap_or(0);
            assert!(position <= log.end_offset(at).await.unwrap(), "kill {kill}: {at} is ahead of the log");
            let before = positions.insert(partition, position).unwrap_or(0);
            assert!(position >= before, "kill {kill}: {at} fell from {before} to {position}");
        }
        for [appender, n, partition, offset] in acknowledged {
            let place = (u32::try_from(partition).unwrap(), offset);
            let expected = Some((appender as usize, n as usize));
            assert_eq!(found.get(&place).copied(), expected, "kill {kill}, at {place:?}");
        }
        log.close().await.unwrap();
    }
    assert!(positions.values().all(|position| *position > 0), "{positions:?}");
}

/// Reads what the last child has appended: dense, each appender's in order, each record whole.
async fn check_partition(
    log: &EmbeddedLog,
    partition: u32,
    starts: &mut BTreeMap<u32, Offset>,
    found: &mut BTreeMap<(u32, Offset), (usize, usize)>,
) {
    let at = TopicPartition { topic: Topic::Acks, partition };
    let mut next = starts.get(&partition).copied().unwrap_or(0);
    let mut newest: BTreeMap<usize, usize> = BTreeMap::new();
    loop {
        let records = log.read(at, next, 500).await.unwrap();
        if records.is_empty() {
            break;
        }
        for record in records {
            assert_eq!(record.position.offset, next, "{at}");
            next += 1;
            let appender: usize = std::str::from_utf8(record.key.as_ref().unwrap()).unwrap().parse().unwrap();
            let n: usize = record.header("n").unwrap().parse().unwrap();
            assert_eq!(record.payload, payload(appender, n), "{at} {next}: torn");
            let expected = newest.insert(appender, n).map_or(0, |before| before + 1);
            assert_eq!(n, expected, "{at}: appender {appender} out of order");
            found.insert((partition, record.position.offset), (appender, n));
        }
    }
    assert_eq!(log.end_offset(at).await.unwrap(), next);
    starts.insert(partition, next);
}
