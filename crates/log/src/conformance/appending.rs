use super::Subject;
use super::hands::{TOPIC, at, fill, key_in, read_all, record};
use crate::LogErrorKind;
use crate::partitioner;
use crate::record::Position;
use bytes::Bytes;
use readmark_events::Topic;
use std::collections::BTreeMap;

super::cases!(
    offsets_are_dense_and_in_order,
    keys_lie_where_the_partitioner_says,
    an_append_of_nothing_is_fine,
    records_come_back_as_they_went,
    topics_do_not_mix,
    a_big_batch_keeps_its_order,
    what_is_too_large_is_refused_whole,
    sixteen_appenders_lose_nothing,
);

async fn offsets_are_dense_and_in_order(subject: Box<dyn Subject>) {
    let log = subject.log();
    let mut positions = fill(&*log, 0, 3).await;
    positions.extend(fill(&*log, 0, 2).await);
    let expected: Vec<Position> = (0..5).map(|offset| Position { partition: at(0), offset }).collect();
    assert_eq!(positions, expected);
    let payloads: Vec<Bytes> = read_all(&*log, 0, 0).await.into_iter().map(|r| r.payload).collect();
    assert_eq!(payloads, ["0", "1", "2", "0", "1"]);
}

async fn keys_lie_where_the_partitioner_says(subject: Box<dyn Subject>) {
    let log = subject.log();
    let keys: Vec<String> = (0..100).map(|n| n.to_string()).collect();
    let positions = log.append(keys.iter().map(|key| record(key, "x")).collect()).await.unwrap();
    for (key, position) in keys.iter().zip(positions) {
        let partition = partitioner::partition_of(key.as_bytes(), log.partitions(TOPIC));
        assert_eq!(position.partition, at(partition), "key {key}");
        let found = &log.read(position.partition, position.offset, 1).await.unwrap()[0];
        assert_eq!(found.key.as_deref(), Some(key.as_bytes()));
    }
}

async fn an_append_of_nothing_is_fine(subject: Box<dyn Subject>) {
    assert_eq!(subject.log().append(Vec::new()).await.unwrap(), []);
}

async fn records_come_back_as_they_went(subject: Box<dyn Subject>) {
    let log = subject.log();
    let key = key_in(&*log, 0);
    let records = vec![
        record(&key, "{\"plain\":true}")
            .with_header("origin", "replay")
            .with_header("empty", "")
            .with_header("origin", "twice"),
        record(&key, vec![]),
        record(&key, (0..=255).collect::<Vec<u8>>()),
        record(&key, vec![0xff; 256 * 1024]),
        record(&key, "ünïcode").with_header("näme", "välue"),
    ];
    log.append(records.clone()).await.unwrap();
    let found = read_all(&*log, 0, 0).await;
    assert_eq!(found.len(), records.len());
    for (found, sent) in found.iter().zip(&records) {
        assert_eq!(found.payload, sent.payload);
        assert_eq!(found.headers, sent.headers);
        assert_eq!(found.key.as_ref(), Some(&sent.key));
        assert!(found.appended_at.get() > 1_500_000_000_000, "appended at {:?}", found.appended_at);
    }
    assert_eq!(found[0].header("origin"), Some("replay"));
}

async fn topics_do_not_mix(subject: Box<dyn Subject>) {
    let log = subject.log();
    let mut records = Vec::new();
    for topic in Topic::ALL {
        let mut record = record(&key_in(&*log, 0), topic.as_str());
        record.topic = topic;
        records.push(record);
    }
    log.append(records).await.unwrap();
    for topic in Topic::ALL {
        let mut partition = at(0);
        partition.topic = topic;
        let found = log.read(partition, 0, 10).await.unwrap();
        assert_eq!(found.len(), 1, "{topic}");
        assert_eq!(found[0].payload, topic.as_str());
        assert_eq!(found[0].position.partition.topic, topic);
    }
}

async fn a_big_batch_keeps_its_order(subject: Box<dyn Subject>) {
    const COUNT: usize = 5000;
    let log = subject.log();
    let positions = fill(&*log, 0, COUNT).await;
    assert!(positions.iter().enumerate().all(|(n, position)| position.offset == n as u64));
    let found = read_all(&*log, 0, 0).await;
    assert_eq!(found.len(), COUNT);
    assert!(found.iter().enumerate().all(|(n, record)| record.payload == n.to_string()));
}

async fn what_is_too_large_is_refused_whole(subject: Box<dyn Subject>) {
    let log = subject.log();
    let key = key_in(&*log, 0);
    let error =
        log.append(vec![record(&key, vec![b'x'; 8 * 1024 * 1024])]).await.expect_err("8 MiB is too large");
    assert_eq!(error.kind, LogErrorKind::Refused, "{error}");
    assert_eq!(log.end_offset(at(0)).await.unwrap(), 0);
    assert_eq!(fill(&*log, 0, 1).await[0].offset, 0, "the log takes records after that");
}

async fn sixteen_appenders_lose_nothing(subject: Box<dyn Subject>) {
    const APPENDERS: usize = 16;
    const EACH: usize = 50;
    let log = subject.log();
    let tasks: Vec<_> = (0..APPENDERS)
        .map(|appender| {
            let log = subject.log();
            tokio::spawn(async move {
                let mut positions = Vec::new();
                for n in 0..EACH {
                    let key = (n % 7).to_string();
                    let sent = vec![record(&key, format!("{appender} {n}"))];
                    positions.extend(log.append(sent).await.expect("append"));
                }
                positions
            })
        })
        .collect();
    let mut answered: BTreeMap<Position, String> = BTreeMap::new();
    for (appender, task) in tasks.into_iter().enumerate() {
        for (n, position) in task.await.unwrap().into_iter().enumerate() {
            let other = answered.insert(position, format!("{appender} {n}"));
            assert_eq!(other, None, "two records were told the same place");
        }
    }
    let mut found = BTreeMap::new();
    for partition in 0..log.partitions(TOPIC) {
        let mut newest = [None; APPENDERS];
        for record in read_all(&*log, partition, 0).await {
            let text = String::from_utf8(record.payload.to_vec()).unwrap();
            let (appender, n) = text.split_once(' ').unwrap();
            let (appender, n): (usize, usize) = (appender.parse().unwrap(), n.parse().unwrap());
            assert!(newest[appender] < Some(n), "appender {appender}: {n} after {:?}", newest[appender]);
            newest[appender] = Some(n);
            found.insert(record.position, text);
        }
    }
    assert_eq!(found, answered);
    assert_eq!(found.len(), APPENDERS * EACH);
}
