use super::Subject;
use super::hands::{DEADLINE, TOPIC, at, fill, group, key_in, next_offsets, read_all, record, take_records};
use crate::record::{Record, TopicPartition};
use readmark_domain::time::TimeMs;
use readmark_events::Topic;
use std::time::Instant;

super::cases!(
    an_empty_partition_starts_and_ends_at_zero,
    reads_go_from_anywhere_to_the_end,
    many_partitions_are_asked_about_at_once,
    reading_moves_no_position,
    times_find_offsets,
    what_was_acknowledged_survives_a_restart,
    positions_survive_a_restart,
    the_log_answers,
);

async fn an_empty_partition_starts_and_ends_at_zero(subject: Box<dyn Subject>) {
    let log = subject.log();
    assert_eq!(log.start_offset(at(0)).await.unwrap(), 0);
    assert_eq!(log.end_offset(at(0)).await.unwrap(), 0);
    assert_eq!(log.read(at(0), 0, 10).await.unwrap(), []);
    assert_eq!(log.offset_for_time(at(0), TimeMs::ZERO).await.unwrap(), 0);
}

async fn reads_go_from_anywhere_to_the_end(subject: Box<dyn Subject>) {
    let log = subject.log();
    fill(&*log, 0, 20).await;
    assert_eq!(log.start_offset(at(0)).await.unwrap(), 0);
    assert_eq!(log.end_offset(at(0)).await.unwrap(), 20);
    let offsets = |records: Vec<Record>| records.iter().map(|r| r.position.offset).collect::<Vec<_>>();
    assert_eq!(offsets(log.read(at(0), 5, 3).await.unwrap()), [5, 6, 7]);
    assert_eq!(offsets(log.read(at(0), 18, 10).await.unwrap()), [18, 19]);
    assert_eq!(offsets(log.read(at(0), 20, 10).await.unwrap()), [0_u64; 0]);
    assert_eq!(read_all(&*log, 0, 0).await.len(), 20);
}

async fn many_partitions_are_asked_about_at_once(subject: Box<dyn Subject>) {
    let log = subject.log();
    let group = group("many");
    let count = log.partitions(TOPIC);
    let lengths: Vec<u64> = (1..=u64::from(count)).collect();
    for (partition, length) in (0..count).zip(&lengths) {
        fill(&*log, partition, usize::try_from(*length).unwrap()).await;
    }
    // In another order than they lie, and of two topics.
    let marks = TopicPartition { topic: Topic::Marks, partition: 0 };
    let asked: Vec<TopicPartition> = (0..count).rev().map(at).chain([marks]).collect();
    let bounds: Vec<(u64, u64)> = lengths.iter().rev().map(|length| (0, *length)).chain([(0, 0)]).collect();
    assert_eq!(log.bounds(&asked).await.unwrap(), bounds);
    assert_eq!(log.bounds(&[]).await.unwrap(), []);
    assert_eq!(log.committed_all(&group, &asked).await.unwrap(), vec![None; asked.len()]);
    let mut consumer = log.join(&group, &[TOPIC]).await.unwrap();
    take_records(&mut *consumer, usize::try_from(lengths.iter().sum::<u64>()).unwrap()).await;
    consumer.commit(&[(at(count - 1), 1)]).await.unwrap();
    consumer.close().await.unwrap();
    let positions: Vec<Option<u64>> = [Some(1)].into_iter().chain(vec![None; asked.len() - 1]).collect();
    assert_eq!(log.committed_all(&group, &asked).await.unwrap(), positions);
    assert_eq!(log.committed_all(&group, &[]).await.unwrap(), []);
}

async fn reading_moves_no_position(subject: Box<dyn Subject>) {
    let log = subject.log();
    fill(&*log, 0, 5).await;
    read_all(&*log, 0, 0).await;
    let group = group("reading");
    assert_eq!(log.committed(&group, at(0)).await.unwrap(), None);
    let mut consumer = log.join(&group, &[TOPIC]).await.unwrap();
    assert_eq!(take_records(&mut *consumer, 5).await.len(), 5);
}

/// Appends until the partition holds records of several times.
async fn several_times(subject: &dyn Subject) -> Vec<Record> {
    let log = subject.log();
    let key = key_in(&*log, 0);
    let start = Instant::now();
    let mut records = Vec::new();
    let mut times = 0;
    while times < 4 {
        assert!(start.elapsed() < DEADLINE, "all records have the same time");
        log.append(vec![record(&key, "a"), record(&key, "b")]).await.unwrap();
        records = read_all(&*log, 0, 0).await;
        times = records.windows(2).filter(|pair| pair[0].appended_at < pair[1].appended_at).count();
    }
    records
}

async fn times_find_offsets(subject: Box<dyn Subject>) {
    let log = subject.log();
    let records = several_times(&*subject).await;
    assert!(records.windows(2).all(|pair| pair[0].appended_at <= pair[1].appended_at), "times fall");
    let end = records.len() as u64;
    let mut asked: Vec<TimeMs> = records.iter().map(|record| record.appended_at).collect();
    asked.extend(records.iter().map(|record| record.appended_at.plus_ms(1)));
    asked.push(TimeMs::ZERO);
    for at_time in asked {
        let expected = records
            .iter()
            .find(|record| record.appended_at >= at_time)
            .map_or(end, |record| record.position.offset);
        assert_eq!(log.offset_for_time(at(0), at_time).await.unwrap(), expected, "at {at_time:?}");
    }
}

async fn what_was_acknowledged_survives_a_restart(mut subject: Box<dyn Subject>) {
    fill(&*subject.log(), 0, 10).await;
    let before = read_all(&*subject.log(), 0, 0).await;
    subject.reopen().await;
    let log = subject.log();
    assert_eq!(read_all(&*log, 0, 0).await, before);
    assert_eq!(log.end_offset(at(0)).await.unwrap(), 10);
    assert_eq!(fill(&*log, 0, 1).await[0].offset, 10);
}

async fn positions_survive_a_restart(mut subject: Box<dyn Subject>) {
    let group = group("restart");
    fill(&*subject.log(), 0, 10).await;
    let mut consumer = subject.log().join(&group, &[TOPIC]).await.unwrap();
    let records = take_records(&mut *consumer, 10).await;
    consumer.commit(&next_offsets(&records[..6])).await.unwrap();
    consumer.close().await.unwrap();
    subject.reopen().await;
    let log = subject.log();
    assert_eq!(log.committed(&group, at(0)).await.unwrap(), Some(6));
    let mut consumer = log.join(&group, &[TOPIC]).await.unwrap();
    assert_eq!(take_records(&mut *consumer, 4).await[0].position.offset, 6);
}

async fn the_log_answers(subject: Box<dyn Subject>) {
    subject.log().probe().await.unwrap();
}
