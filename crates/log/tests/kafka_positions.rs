//! Where a group is, when commits are late: held back by a broker that was away, or another member's.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "a panic is how a test fails, and it waits for one event among others"
)]

mod cluster;

use bytes::Bytes;
use cluster::{Cluster, DEADLINE, Kind, create_all, delete_all};
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::{ClientConfig, Offset as KafkaOffset, TopicPartitionList};
use readmark_events::Topic;
use readmark_log::kafka::{KafkaLog, KafkaLogOptions};
use readmark_log::{Consumer, EventLog, Group, NewRecord, Offset, PolledEvent, TopicPartition};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

const TOPIC: Topic = Topic::Acks;
const PARTITIONS: u32 = 2;
/// The first port of the cluster that is away for a while.
const PORT: u16 = 20_100;

fn group_of(options: &KafkaLogOptions) -> Group {
    Group(options.topic_prefix.clone())
}

fn at(partition: u32) -> TopicPartition {
    TopicPartition { topic: TOPIC, partition }
}

async fn append(log: &KafkaLog, count: u32) {
    let record = |n: u32| NewRecord {
        topic: TOPIC,
        key: Bytes::from(n.to_string()),
        payload: Bytes::from_static(b"{}"),
        headers: Vec::new(),
    };
    log.append((0..count).map(record).collect()).await.unwrap();
}

/// A role that has taken more than it has stored, and stores one more at each turn.
struct Role<'a> {
    log: &'a KafkaLog,
    group: Group,
    member: Box<dyn Consumer>,
    next: BTreeMap<TopicPartition, Offset>,
    behind: Offset,
}

impl<'a> Role<'a> {
    async fn join(log: &'a KafkaLog, group: Group) -> Self {
        let member = log.join(&group, &[TOPIC]).await.unwrap();
        Self { log, group, member, next: BTreeMap::new(), behind: 0 }
    }

    async fn store(&mut self) {
        self.behind = self.behind.saturating_sub(1);
        let position = |(at, next): (&TopicPartition, &Offset)| (*at, next.saturating_sub(self.behind));
        let positions: Vec<_> = self.next.iter().map(position).collect();
        self.member.commit(&positions).await.unwrap();
    }

    /// Works until the event comes.
    async fn works_until(&mut self, what: &str, is_wanted: impl Fn(&PolledEvent) -> bool) {
        let start = Instant::now();
        loop {
            assert!(start.elapsed() < DEADLINE, "{what}: not within {DEADLINE:?}");
            let event = self.member.next(100).await.unwrap_or_else(|error| panic!("{what}: {error}"));
            match &event {
                PolledEvent::Records(records) => {
                    let next = records.iter().map(|one| (one.position.partition, one.position.offset + 1));
                    self.next.extend(next);
                }
                PolledEvent::Revoked(asked) => {
                    self.member.release(asked).await.unwrap();
                    self.next.retain(|one, _| !asked.contains(one));
                }
                PolledEvent::Lost(lost) => {
                    self.next.retain(|one, _| !lost.contains(one));
                }
                _ => {}
            }
            self.store().await;
            if is_wanted(&event) {
                return;
            }
        }
    }

    /// Works until the group is where the role is.
    async fn works_until_stored(&mut self) {
        let start = Instant::now();
        loop {
            self.works_until("a turn", |_| true).await;
            let both = [at(0), at(1)];
            // A broker that has just come back may refuse a while longer.
            let found = match self.log.bounds(&both).await {
                Ok(ends) => self.log.committed_all(&self.group, &both).await.map(|stored| (ends, stored)),
                Err(error) => Err(error),
            };
            if let Ok((ends, stored)) = &found
                && ends.iter().zip(stored).all(|((_, end), stored)| *stored == Some(*end))
            {
                return;
            }
            assert!(start.elapsed() < DEADLINE, "ends and positions: {found:?}, the role: {:?}", self.next);
        }
    }
}

/// A member of the group that commits what is not its own, as one does whose commit was held back until it had lost it.
fn set_back(options: &KafkaLogOptions) {
    let topic = TOPIC.full_name(&options.topic_prefix);
    let member: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", &options.brokers)
        .set("group.id", group_of(options).0)
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("enable.auto.commit", "false")
        .create()
        .unwrap();
    member.subscribe(&[&topic]).unwrap();
    let start = Instant::now();
    while member.assignment().unwrap().count() == 0 {
        assert!(start.elapsed() < DEADLINE, "it is given nothing");
        drop(member.poll(Duration::from_millis(100)));
    }
    let mut back = TopicPartitionList::new();
    for partition in 0..PARTITIONS {
        back.add_partition_offset(&topic, partition.try_into().unwrap(), KafkaOffset::Offset(1)).unwrap();
    }
    // It may be asked to join again first.
    while let Err(error) = member.commit(&back, CommitMode::Sync) {
        assert!(start.elapsed() < DEADLINE, "{error}");
        drop(member.poll(Duration::from_millis(100)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_was_set_back_is_told_again() {
    let options = Cluster::shared().options();
    create_all(&options, PARTITIONS).await;
    let log = KafkaLog::open(options.clone()).await.unwrap();
    append(&log, 40).await;
    let mut role = Role::join(&log, group_of(&options)).await;
    role.works_until_stored().await;
    let other = options.clone();
    let setting_back = tokio::task::spawn_blocking(move || set_back(&other));
    while !setting_back.is_finished() {
        role.works_until("a turn", |_| true).await;
    }
    setting_back.await.unwrap();
    // Nothing follows that would move the positions.
    role.works_until_stored().await;
    delete_all(options);
}

/// What the role stores while the broker is away is sent under its membership of then, which is over when the broker is back.
#[tokio::test(flavor = "multi_thread")]
async fn an_outage_longer_than_a_session_ends_no_member() {
    let cluster = Arc::new(Cluster::own("outage", PORT, Kind::default()));
    let mut options = cluster.options();
    options.instance_id = Some("stays".to_owned());
    create_all(&options, PARTITIONS).await;
    let log = KafkaLog::open(options.clone()).await.unwrap();
    let mut role = Role::join(&log, group_of(&options)).await;
    for outage in 0..2 {
        append(&log, 400).await;
        role.works_until("records", |event| matches!(event, PolledEvent::Records(_))).await;
        role.behind = 190;
        let broker = Arc::clone(&cluster);
        tokio::task::spawn_blocking(move || broker.kill(1)).await.unwrap();
        role.works_until("the end of the session", |event| matches!(event, PolledEvent::Lost(_))).await;
        let broker = Arc::clone(&cluster);
        tokio::task::spawn_blocking(move || broker.start()).await.unwrap();
        role.works_until("partitions again", |event| matches!(event, PolledEvent::Assigned(_))).await;
        role.behind = 0;
        role.works_until_stored().await;
        println!("outage {outage}: the group is where the role is");
    }
}
