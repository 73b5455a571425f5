//! What bites in Kafka and its client, each trap with a test that the adapter does not step into it.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "a panic is how a test fails, and it waits for one event among others"
)]

mod cluster;

use bytes::Bytes;
use cluster::{Cluster, DEADLINE, create_all, delete_all};
use readmark_domain::time::TimeMs;
use readmark_events::Topic;
use readmark_log::kafka::{KafkaLog, KafkaLogOptions};
use readmark_log::{
    Consumer, EventLog, Group, LogErrorKind, NewRecord, Offset, PolledEvent, Record, TopicPartition,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

const TOPIC: Topic = Topic::Acks;

/// A log whose topics are its own and go with it.
struct Own {
    log: KafkaLog,
    options: KafkaLogOptions,
}

impl Own {
    async fn open(change: impl FnOnce(&mut KafkaLogOptions)) -> Self {
        Self::on(Cluster::shared(), change).await
    }

    async fn on(cluster: &Cluster, change: impl FnOnce(&mut KafkaLogOptions)) -> Self {
        let mut options = cluster.options();
        change(&mut options);
        create_all(&options, 2).await;
        Self { log: KafkaLog::open(options.clone()).await.unwrap(), options }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        delete_all(self.options.clone());
    }
}

fn group() -> Group {
    Group("traps".to_owned())
}

fn at(partition: u32) -> TopicPartition {
    TopicPartition { topic: TOPIC, partition }
}

fn record(key: &str, n: usize) -> NewRecord {
    NewRecord {
        topic: TOPIC,
        key: Bytes::from(key.to_owned()),
        payload: Bytes::from(n.to_string()),
        headers: Vec::new(),
    }
}

/// `count` records in each of the two partitions.
async fn fill(log: &KafkaLog, count: usize) {
    for partition in 0..2 {
        let key = (0..)
            .map(|n: u32| n.to_string())
            .find(|key| log.partition_of(TOPIC, key.as_bytes()) == partition)
            .unwrap();
        log.append((0..count).map(|n| record(&key, n)).collect()).await.unwrap();
    }
}

fn next_offsets(records: &[Record]) -> BTreeMap<TopicPartition, Offset> {
    records.iter().map(|record| (record.position.partition, record.position.offset + 1)).collect()
}

/// Polls until the event is what is waited for; records are counted by position.
async fn poll_until<T>(
    consumer: &mut dyn Consumer,
    seen: &mut BTreeMap<(u32, Offset), usize>,
    mut wanted: impl FnMut(&PolledEvent, &BTreeMap<(u32, Offset), usize>) -> Option<T>,
) -> T {
    let start = Instant::now();
    loop {
        assert!(start.elapsed() < DEADLINE, "not within {DEADLINE:?}; {} records seen", seen.len());
        let event = consumer.next(100).await.unwrap();
        if let PolledEvent::Records(records) = &event {
            for record in records {
                *seen.entry((record.position.partition.partition, record.position.offset)).or_default() += 1;
            }
        }
        if let Some(found) = wanted(&event, seen) {
            return found;
        }
    }
}

/// What is given, for [`poll_until`].
fn assigned<S>(event: &PolledEvent, _: &S) -> Option<Vec<TopicPartition>> {
    match event {
        PolledEvent::Assigned(given) => Some(given.clone()),
        _ => None,
    }
}

/// What is asked back, for [`poll_until`].
fn revoked<S>(event: &PolledEvent, _: &S) -> Option<Vec<TopicPartition>> {
    match event {
        PolledEvent::Revoked(asked) => Some(asked.clone()),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dropped_member_threw_away_is_not_stored() {
    let own = Own::open(|_| {}).await;
    fill(&own.log, 3000).await;
    let mut consumer = own.log.join(&group(), &[TOPIC]).await.unwrap();
    let mut seen = BTreeMap::new();
    let taken = poll_until(&mut *consumer, &mut seen, |event, _| match event {
        PolledEvent::Records(records) => Some(records.clone()),
        _ => None,
    })
    .await;
    // It has taken one batch and stored a part of it; thousands more are at the client.
    let stored: Vec<_> = next_offsets(&taken[..10]).into_iter().collect();
    consumer.commit(&stored).await.unwrap();
    drop(consumer);
    let mut consumer = own.log.join(&group(), &[TOPIC]).await.unwrap();
    let mut again = BTreeMap::new();
    poll_until(&mut *consumer, &mut again, |_, again| (again.len() >= 6000 - 10).then_some(())).await;
    assert_eq!(again.len(), 6000 - 10, "begins at {:?}", again.keys().next());
    consumer.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_flush_at_a_revocation_makes_no_duplicates() {
    let own = Own::open(|_| {}).await;
    fill(&own.log, 500).await;
    let mut first = own.log.join(&group(), &[TOPIC]).await.unwrap();
    let mut seen = BTreeMap::new();
    poll_until(&mut *first, &mut seen, |_, seen| (seen.len() == 1000).then_some(())).await;
    let second_log = own.log.clone();
    let second = tokio::spawn(async move {
        let mut second = second_log.join(&group(), &[TOPIC]).await.unwrap();
        let given = poll_until(&mut *second, &mut BTreeMap::new(), |event, _| match event {
            PolledEvent::Assigned(given) if !given.is_empty() => Some(given.clone()),
            _ => None,
        })
        .await;
        (second, given)
    });
    let revoked = poll_until(&mut *first, &mut seen, revoked).await;
    assert_eq!(revoked.len(), 1);
    // The flush that takes its time.
    tokio::time::sleep(Duration::from_secs(2)).await;
    first.commit(&[(revoked[0], 500)]).await.unwrap();
    first.release(&revoked).await.unwrap();
    let (mut second, given) = second.await.unwrap();
    assert_eq!(given, revoked);
    fill(&own.log, 10).await;
    let mut new = BTreeMap::new();
    poll_until(&mut *second, &mut new, |_, new| (new.len() >= 10).then_some(())).await;
    assert_eq!(new.keys().map(|(_, offset)| *offset).collect::<Vec<_>>(), (500..510).collect::<Vec<_>>());
    second.close().await.unwrap();
    first.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn who_keeps_what_it_must_give_back_loses_it() {
    let own = Own::open(|options| options.revoke_within = Duration::from_secs(1)).await;
    let mut first = own.log.join(&group(), &[TOPIC]).await.unwrap();
    let mut seen = BTreeMap::new();
    poll_until(&mut *first, &mut seen, assigned).await;
    let mut second = own.log.join(&group(), &[TOPIC]).await.unwrap();
    let revoked = poll_until(&mut *first, &mut seen, revoked).await;
    let lost = poll_until(&mut *first, &mut seen, |event, _| match event {
        PolledEvent::Lost(lost) => Some(lost.clone()),
        _ => None,
    })
    .await;
    assert_eq!(lost, revoked);
    let error = first.commit(&[(lost[0], 1)]).await.unwrap_err();
    assert_eq!(error.kind, LogErrorKind::NotOwner, "{error}");
    let given = poll_until(&mut *second, &mut BTreeMap::new(), |event, _| match event {
        PolledEvent::Assigned(given) if !given.is_empty() => Some(given.clone()),
        _ => None,
    })
    .await;
    assert_eq!(given, lost);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_poll_loses_its_partitions_and_goes_on() {
    let own = Own::open(|options| {
        options.session_timeout = Duration::from_secs(2);
        options.max_poll_interval = Duration::from_secs(2);
    })
    .await;
    fill(&own.log, 10).await;
    let mut first = own.log.join(&group(), &[TOPIC]).await.unwrap();
    let mut seen = BTreeMap::new();
    poll_until(&mut *first, &mut seen, |_, seen| (seen.len() == 20).then_some(())).await;
    let mut second = own.log.join(&group(), &[TOPIC]).await.unwrap();
    // The first one hangs: the other gets all.
    let mut given = BTreeSet::new();
    let mut others = BTreeMap::new();
    poll_until(&mut *second, &mut others, |event, _| {
        if let PolledEvent::Assigned(more) = event {
            given.extend(more.iter().copied());
        }
        (given.len() == 2).then_some(())
    })
    .await;
    poll_until(&mut *second, &mut others, |_, others| (others.len() == 20).then_some(())).await;
    // One by one when it was just being asked to give one back.
    let mut lost = BTreeSet::new();
    poll_until(&mut *first, &mut seen, |event, _| {
        if let PolledEvent::Lost(more) = event {
            lost.extend(more.iter().copied());
        }
        (lost.len() == 2).then_some(())
    })
    .await;
    assert_eq!(lost, given);
    let error = first.commit(&[(at(0), 10)]).await.unwrap_err();
    assert_eq!(error.kind, LogErrorKind::NotOwner, "{error}");
    assert_eq!(own.log.committed(&group(), at(0)).await.unwrap(), None);
    // Once the other has gone, it gets them back.
    second.close().await.unwrap();
    let mut back = BTreeSet::new();
    poll_until(&mut *first, &mut seen, |event, _| {
        if let PolledEvent::Assigned(more) = event {
            back.extend(more.iter().copied());
        }
        (back.len() == 2).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_takes_nothing_for_a_while_holds_up_nobody() {
    let own = Own::open(|options| options.revoke_within = Duration::from_secs(1)).await;
    fill(&own.log, 20_000).await;
    let mut first = own.log.join(&group(), &[TOPIC]).await.unwrap();
    let mut seen = BTreeMap::new();
    poll_until(&mut *first, &mut seen, |_, seen| (!seen.is_empty()).then_some(())).await;
    // Its hand-over is full, yet the other gets its share long before the poll interval of five minutes.
    let mut second = own.log.join(&group(), &[TOPIC]).await.unwrap();
    let mut others = BTreeMap::new();
    poll_until(&mut *second, &mut others, |_, others| (others.len() == 20_000).then_some(())).await;
    // And nothing is missing afterwards.
    let kept = poll_until(&mut *first, &mut seen, |_, seen| {
        (0..2).find(|partition| seen.keys().filter(|(of, _)| of == partition).count() == 20_000)
    })
    .await;
    assert!(others.keys().all(|(of, _)| *of != kept), "partition {kept} stayed with the first");
}

/// The client keeps a pause beyond the ownership: what went while it was paused must not stay so when it comes back.
#[tokio::test(flavor = "multi_thread")]
async fn what_went_while_it_was_paused_is_consumed_when_it_comes_back() {
    let own = Own::open(|_| {}).await;
    fill(&own.log, 10).await;
    let mut first = own.log.join(&group(), &[TOPIC]).await.unwrap();
    let mut seen = BTreeMap::new();
    poll_until(&mut *first, &mut seen, |_, seen| (seen.len() == 20).then_some(())).await;
    first.pause(&[at(0), at(1)]).await.unwrap();
    fill(&own.log, 10).await;
    let second_log = own.log.clone();
    let joining = tokio::spawn(async move {
        let mut second = second_log.join(&group(), &[TOPIC]).await.unwrap();
        poll_until(&mut *second, &mut BTreeMap::new(), assigned).await;
        second
    });
    let gone = poll_until(&mut *first, &mut seen, revoked).await;
    assert_eq!((gone.len(), seen.len()), (1, 20), "both are paused, and one goes");
    first.release(&gone).await.unwrap();
    joining.await.unwrap().close().await.unwrap();
    let back = poll_until(&mut *first, &mut seen, assigned).await;
    assert_eq!(back, gone);
    let of_it = gone[0].partition;
    poll_until(&mut *first, &mut seen, |_, seen| {
        let last = seen.keys().filter(|(partition, _)| *partition == of_it).map(|(_, offset)| *offset).max();
        (last == Some(19)).then_some(())
    })
    .await;
    first.close().await.unwrap();
}

/// A group of more members than partitions: the one too many is told that its share is empty, and that is its turn when
/// another goes.
#[tokio::test(flavor = "multi_thread")]
async fn a_spare_member_knows_that_it_is_one_and_steps_in() {
    let own = Own::open(|_| {}).await;
    let mut first = own.log.join(&group(), &[TOPIC]).await.unwrap();
    assert_eq!(poll_until(&mut *first, &mut BTreeMap::new(), assigned).await.len(), 2);
    let (leave, left) = tokio::sync::oneshot::channel::<()>();
    // The first gives one back to the second, and stays at work.
    let working = tokio::spawn(async move {
        let gives_back = async {
            loop {
                if let PolledEvent::Revoked(asked) = first.next(100).await.unwrap() {
                    first.release(&asked).await.unwrap();
                }
            }
        };
        tokio::select! {
            () = gives_back => {}
            left = left => left.unwrap(),
        }
        first.close().await.unwrap();
    });
    let mut second = own.log.join(&group(), &[TOPIC]).await.unwrap();
    assert_eq!(poll_until(&mut *second, &mut BTreeMap::new(), assigned).await.len(), 1);
    let mut spare = own.log.join(&group(), &[TOPIC]).await.unwrap();
    assert_eq!(poll_until(&mut *spare, &mut BTreeMap::new(), assigned).await.len(), 0);
    leave.send(()).unwrap();
    working.await.unwrap();
    assert_eq!(poll_until(&mut *spare, &mut BTreeMap::new(), assigned).await.len(), 1);
    spare.close().await.unwrap();
    second.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_of_one_name_are_told_so() {
    let own = Own::open(|options| options.instance_id = Some("twin".to_owned())).await;
    let mut first = own.log.join(&group(), &[TOPIC]).await.unwrap();
    poll_until(&mut *first, &mut BTreeMap::new(), assigned).await;
    let twin = KafkaLog::open(own.options.clone()).await.unwrap();
    let mut second = twin.join(&group(), &[TOPIC]).await.unwrap();
    poll_until(&mut *second, &mut BTreeMap::new(), assigned).await;
    let start = Instant::now();
    let error = loop {
        assert!(start.elapsed() < DEADLINE, "the first one was told nothing");
        if let Err(error) = first.next(100).await {
            break error;
        }
    };
    assert_eq!(error.kind, LogErrorKind::Refused, "{error}");
    assert!(error.to_string().contains("another process uses the instance id \"twin\""), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_topics_and_unknown_settings_are_refused() {
    let options = Cluster::shared().options();
    let error = KafkaLog::open(options.clone()).await.unwrap_err();
    assert_eq!(error.kind, LogErrorKind::Refused, "{error}");
    assert!(error.to_string().contains("readmark setup"), "{error}");
    let mut unknown = options;
    unknown.settings.insert("sasl.pasword".to_owned(), "x".to_owned());
    let error = KafkaLog::open(unknown).await.unwrap_err();
    assert_eq!(error.kind, LogErrorKind::Refused, "{error}");
    assert!(error.to_string().contains("sasl.pasword"), "{error}");
}

/// Asked by time about a partition that is not there, the client leaves the time in the place of the offset.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_asked_is_never_taken_for_the_answer() {
    let own = Own::open(|_| {}).await;
    fill(&own.log, 3).await;
    assert_eq!(own.log.offset_for_time(at(1), TimeMs::saturating(1)).await.unwrap(), 0);
    let error = own.log.offset_for_time(at(7), TimeMs::saturating(1)).await.unwrap_err();
    assert!(error.to_string().contains("/7"), "it names the partition: {error}");
}
