use super::Subject;
use super::hands::{
    DEADLINE, TOPIC, at, expect_nothing, expect_stored, fill, fill_all, group, next_offsets, take_assigned,
    take_records,
};
use crate::LogErrorKind;
use crate::port::PolledEvent;
use crate::record::Position;
use readmark_events::Topic;
use std::collections::BTreeSet;
use std::time::Instant;

super::cases!(
    a_new_group_starts_at_the_earliest,
    a_group_goes_on_where_it_stored,
    nothing_is_stored_unless_told,
    groups_do_not_disturb_each_other,
    a_position_never_moves_backwards,
    a_position_may_stay,
    paused_partitions_hand_over_nothing,
    an_append_wakes_who_waits,
    a_member_of_two_topics_gets_both,
    what_is_not_owned_cannot_be_stored,
);

async fn a_new_group_starts_at_the_earliest(subject: Box<dyn Subject>) {
    let log = subject.log();
    let all = fill_all(&*log, 10).await;
    let mut consumer = log.join(&group("earliest"), &[TOPIC]).await.unwrap();
    let assigned = take_assigned(&mut *consumer, log.partitions(TOPIC) as usize).await;
    assert_eq!(assigned, (0..log.partitions(TOPIC)).map(at).collect());
    let records = take_records(&mut *consumer, all.len()).await;
    assert_eq!(records.iter().map(|record| record.position).collect::<BTreeSet<_>>(), all);
    for partition in 0..log.partitions(TOPIC) {
        let offsets: Vec<u64> = records
            .iter()
            .filter(|record| record.position.partition == at(partition))
            .map(|record| record.position.offset)
            .collect();
        assert_eq!(offsets, (0..10).collect::<Vec<u64>>(), "partition {partition}");
    }
    expect_nothing(&mut *consumer).await;
}

async fn a_group_goes_on_where_it_stored(subject: Box<dyn Subject>) {
    let log = subject.log();
    let group = group("resume");
    fill(&*log, 0, 10).await;
    assert_eq!(log.committed(&group, at(0)).await.unwrap(), None);
    let mut consumer = log.join(&group, &[TOPIC]).await.unwrap();
    let records = take_records(&mut *consumer, 10).await;
    consumer.commit(&next_offsets(&records[..4])).await.unwrap();
    expect_stored(&*log, &group, 0, 4).await;
    consumer.close().await.unwrap();
    let mut consumer = log.join(&group, &[TOPIC]).await.unwrap();
    assert_eq!(take_records(&mut *consumer, 6).await[0].position.offset, 4);
}

async fn nothing_is_stored_unless_told(subject: Box<dyn Subject>) {
    let log = subject.log();
    let group = group("untold");
    fill(&*log, 0, 10).await;
    let mut consumer = log.join(&group, &[TOPIC]).await.unwrap();
    take_records(&mut *consumer, 10).await;
    drop(consumer);
    let mut consumer = log.join(&group, &[TOPIC]).await.unwrap();
    take_records(&mut *consumer, 10).await;
    consumer.close().await.unwrap();
    assert_eq!(log.committed(&group, at(0)).await.unwrap(), None);
    let mut consumer = log.join(&group, &[TOPIC]).await.unwrap();
    assert_eq!(take_records(&mut *consumer, 10).await[0].position.offset, 0);
}

async fn groups_do_not_disturb_each_other(subject: Box<dyn Subject>) {
    let log = subject.log();
    fill(&*log, 0, 5).await;
    let (one, other) = (group("one"), group("other"));
    let mut first = log.join(&one, &[TOPIC]).await.unwrap();
    let mut second = log.join(&other, &[TOPIC]).await.unwrap();
    let records = take_records(&mut *first, 5).await;
    first.commit(&next_offsets(&records)).await.unwrap();
    assert_eq!(take_records(&mut *second, 5).await, records);
    expect_stored(&*log, &one, 0, 5).await;
    assert_eq!(log.committed(&other, at(0)).await.unwrap(), None);
}

async fn a_position_never_moves_backwards(subject: Box<dyn Subject>) {
    let log = subject.log();
    let group = group("backwards");
    fill(&*log, 0, 10).await;
    let mut consumer = log.join(&group, &[TOPIC]).await.unwrap();
    take_records(&mut *consumer, 10).await;
    consumer.commit(&[(at(0), 8)]).await.unwrap();
    expect_stored(&*log, &group, 0, 8).await;
    // Whether it is taken in silence or refused, it must have no effect, now or with the next one.
    let _ = consumer.commit(&[(at(0), 3)]).await;
    assert_eq!(log.committed(&group, at(0)).await.unwrap(), Some(8));
    consumer.commit(&[(at(0), 9)]).await.unwrap();
    expect_stored(&*log, &group, 0, 9).await;
    let _ = consumer.commit(&[(at(0), 3)]).await;
    consumer.close().await.unwrap();
    assert_eq!(log.committed(&group, at(0)).await.unwrap(), Some(9));
}

async fn a_position_may_stay(subject: Box<dyn Subject>) {
    let log = subject.log();
    let group = group("stay");
    fill(&*log, 0, 3).await;
    let mut consumer = log.join(&group, &[TOPIC]).await.unwrap();
    take_records(&mut *consumer, 3).await;
    consumer.commit(&[(at(0), 2)]).await.unwrap();
    consumer.commit(&[(at(0), 2)]).await.unwrap();
    consumer.commit(&[]).await.unwrap();
    expect_stored(&*log, &group, 0, 2).await;
}

async fn paused_partitions_hand_over_nothing(subject: Box<dyn Subject>) {
    let log = subject.log();
    assert!(log.partitions(TOPIC) >= 2, "this case needs two partitions");
    let mut consumer = log.join(&group("pause"), &[TOPIC]).await.unwrap();
    take_assigned(&mut *consumer, log.partitions(TOPIC) as usize).await;
    consumer.pause(&[at(0)]).await.unwrap();
    fill(&*log, 0, 5).await;
    let other = fill(&*log, 1, 5).await;
    let records = take_records(&mut *consumer, 5).await;
    assert_eq!(records.iter().map(|record| record.position).collect::<Vec<_>>(), other);
    expect_nothing(&mut *consumer).await;
    consumer.resume(&[at(0)]).await.unwrap();
    let offsets: Vec<Position> =
        take_records(&mut *consumer, 5).await.iter().map(|record| record.position).collect();
    assert_eq!(offsets, (0..5).map(|offset| Position { partition: at(0), offset }).collect::<Vec<_>>());
    // In the middle of a partition, too.
    consumer.pause(&[at(0)]).await.unwrap();
    fill(&*log, 0, 1).await;
    expect_nothing(&mut *consumer).await;
    consumer.resume(&[at(0)]).await.unwrap();
    assert_eq!(take_records(&mut *consumer, 1).await[0].position.offset, 5);
}

async fn an_append_wakes_who_waits(subject: Box<dyn Subject>) {
    let log = subject.log();
    let mut consumer = log.join(&group("wake"), &[TOPIC]).await.unwrap();
    take_assigned(&mut *consumer, log.partitions(TOPIC) as usize).await;
    let wait_ms = u64::try_from(DEADLINE.as_millis()).unwrap();
    let (entered, waits) = tokio::sync::oneshot::channel();
    let waiting = tokio::spawn(async move {
        let _ = entered.send(());
        let event = consumer.next(wait_ms).await.unwrap();
        (event, Instant::now())
    });
    waits.await.unwrap();
    let appended = Instant::now();
    fill(&*log, 0, 1).await;
    let (event, woken) = waiting.await.unwrap();
    assert!(matches!(&event, PolledEvent::Records(records) if records.len() == 1), "{event:?}");
    assert!(woken - appended < DEADLINE / 6, "woken only after {:?}", woken - appended);
}

async fn a_member_of_two_topics_gets_both(subject: Box<dyn Subject>) {
    let log = subject.log();
    fill(&*log, 0, 2).await;
    let mut mark = super::hands::record("1", "mark");
    mark.topic = Topic::Marks;
    log.append(vec![mark]).await.unwrap();
    let mut consumer = log.join(&group("two"), &[TOPIC, Topic::Marks]).await.unwrap();
    let records = take_records(&mut *consumer, 3).await;
    assert_eq!(records.iter().filter(|r| r.position.partition.topic == Topic::Marks).count(), 1);
    consumer.commit(&next_offsets(&records)).await.unwrap();
}

async fn what_is_not_owned_cannot_be_stored(subject: Box<dyn Subject>) {
    let log = subject.log();
    let group = group("foreign");
    let mut consumer = log.join(&group, &[TOPIC]).await.unwrap();
    take_assigned(&mut *consumer, log.partitions(TOPIC) as usize).await;
    let mut foreign = at(0);
    foreign.topic = Topic::Marks;
    let error = consumer.commit(&[(foreign, 1)]).await.expect_err("it never owned that");
    assert_eq!(error.kind, LogErrorKind::NotOwner, "{error}");
    assert_eq!(log.committed(&group, foreign).await.unwrap(), None);
}
