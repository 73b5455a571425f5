//! What fails, comes twice, is lost or can't be read.
#![allow(clippy::unwrap_used, reason = "a test may stop at what is impossible")]

mod support;

use bytes::Bytes;
use readmark_events::{DeadLetterHeaders, Topic, header_name};
use readmark_log::{EventLog, Group, NewRecord, TopicPartition};
use readmark_runtime::role::Role;
use std::sync::atomic::Ordering;
use std::time::Duration;
use support::{Device, World, ack, joined, message, read};
use tokio::time::timeout;

const U: u64 = 1;
const V: u64 = 2;

async fn world() -> World {
    let mut world = World::new().await;
    for user in [U, V] {
        world.say(joined("c", user, 0, user)).await;
    }
    world.say(message("c", 1, V)).await;
    world.settle().await;
    world
}

fn notifier() -> Group {
    Group("readmark.notifier".to_owned())
}

const fn partition(topic: Topic) -> TopicPartition {
    TopicPartition { topic, partition: 0 }
}

async fn backlog(world: &World, topic: Topic) -> u64 {
    let stored = world.log.committed(&notifier(), partition(topic)).await.unwrap().unwrap_or(0);
    world.log.end_offset(partition(topic)).await.unwrap() - stored
}

/// L3 and worse: calls fail, half of them after they took effect.
#[tokio::test(start_paused = true)]
async fn what_fails_is_told_again() {
    let mut world = world().await;
    let mut device = Device::connect(&world, U).await;
    world.hot.failures.store(41, Ordering::Relaxed);
    world.say(message("c", 2, V)).await;
    world.settle().await;
    assert_eq!(device.sync(&world).await.len(), 1, "once");
    device.is_right(&world).await;
    assert_eq!(world.hot.failures.load(Ordering::Relaxed), 0);
    assert!(world.log.from(Topic::DeadLetters, 0).is_empty());
}

/// While the hot state is away nothing is stored; whoever comes next tells it.
#[tokio::test(start_paused = true)]
async fn nothing_is_stored_while_nobody_is_told() {
    let mut world = world().await;
    let mut device = Device::connect(&world, U).await;
    for topic in [Topic::ConversationChanged, Topic::ReadChanged] {
        assert_eq!(backlog(&world, topic).await, 0);
    }
    world.hot.failures.store(u32::MAX, Ordering::Relaxed);
    world.say(message("c", 2, V)).await;
    let settled = timeout(Duration::from_secs(600), world.settle()).await;
    assert!(settled.is_err(), "it waits for ever");
    assert_eq!(backlog(&world, Topic::ConversationChanged).await, 1);
    world.kill_notifier();
    world.hot.failures.store(0, Ordering::Relaxed);
    world.start_notifier().await;
    world.settle().await;
    device.sync(&world).await;
    device.is_right(&world).await;
    assert_eq!((device.unread("c"), device.snapshots), (2, 1));
    assert!(world.log.from(Topic::DeadLetters, 0).is_empty());
}

/// J9, RR-6: positions that are lost while the records are there cost work, and nobody notices.
#[tokio::test(start_paused = true)]
async fn the_whole_log_again_is_no_news() {
    let mut world = world().await;
    world.say(ack("c", 1, V, U)).await;
    world.say(read("c", U, 1, "phone", 10)).await;
    world.settle().await;
    let (mut reader, mut sender) = (Device::connect(&world, U).await, Device::connect(&world, V).await);
    world.say(message("c", 2, V)).await;
    world.say(ack("c", 2, V, U)).await;
    world.settle().await;
    reader.sync(&world).await;
    assert_eq!(sender.sync(&world).await.len(), 2, "its own message, and that it was read");
    world.kill_notifier();
    world
        .log
        .commit(&notifier().0, &[Topic::ConversationChanged, Topic::ReadChanged].map(|t| (partition(t), 0)));
    world.start_notifier().await;
    world.settle().await;
    assert_eq!(reader.sync(&world).await, []);
    // The tally of before it connected was never told to this state.
    assert_eq!(sender.sync(&world).await.len(), 1);
    assert_eq!((reader.snapshots, sender.snapshots), (1, 1));
}

/// Records that retention took before anybody was told: every state is made anew, once.
#[tokio::test(start_paused = true)]
async fn lost_records_renew_every_state() {
    let mut world = world().await;
    let mut device = Device::connect(&world, U).await;
    world.kill_notifier();
    world.say(message("c", 2, V)).await;
    world.settle().await;
    let end = world.log.end_offset(partition(Topic::ConversationChanged)).await.unwrap();
    world.log.expire(Topic::ConversationChanged, end);
    world.start_notifier().await;
    world.settle().await;
    device.sync(&world).await;
    assert_eq!((device.unread("c"), device.snapshots), (2, 2));
    assert_eq!(backlog(&world, Topic::ConversationChanged).await, 0, "also though no record followed");
    world.kill_notifier();
    world.start_notifier().await;
    world.settle().await;
    device.sync(&world).await;
    assert_eq!(device.snapshots, 2);
}

/// The same while it runs, for one that is seven days behind.
#[tokio::test(start_paused = true)]
async fn records_lost_while_it_runs_renew_every_state() {
    let mut world = world().await;
    let mut device = Device::connect(&world, U).await;
    let end = world.log.end_offset(partition(Topic::ConversationChanged)).await.unwrap();
    for n in 2..=3 {
        world.say(message("c", n, V)).await;
    }
    world.log.expire(Topic::ConversationChanged, end + 1);
    // The catalog tells both at once; what lies below the start is not there any more.
    world.say(message("c", 4, V)).await;
    world.settle().await;
    world.say(message("c", 5, V)).await;
    world.settle().await;
    device.sync(&world).await;
    assert_eq!((device.unread("c"), device.snapshots), (5, 2));
}

/// What can't be read is kept; what follows is told.
#[tokio::test(start_paused = true)]
async fn what_is_no_record_is_a_dead_letter() {
    let mut world = world().await;
    let mut device = Device::connect(&world, U).await;
    let record = |topic, key: &str, payload: &str| NewRecord {
        topic,
        key: Bytes::from(key.to_owned()),
        payload: Bytes::from(payload.to_owned()),
        headers: Vec::new(),
    };
    let bad = vec![
        record(Topic::ConversationChanged, "c", "{"),
        record(Topic::ReadChanged, "1", r#"{"v":9,"kind":"message_read"}"#),
        record(Topic::ReadChanged, "1", r#"{"v":1,"kind":"pinned"}"#),
    ];
    world.log.append(bad).await.unwrap();
    world.say(message("c", 2, V)).await;
    world.settle().await;
    device.sync(&world).await;
    assert_eq!(device.unread("c"), 2);
    let letters = world.log.from(Topic::DeadLetters, 0);
    let said = |headers| DeadLetterHeaders::from_headers(headers).map(|said| (said.role, said.reason));
    let said: Vec<_> = letters.iter().filter_map(|letter| said(&letter.headers)).collect();
    let of = |reason: &str| ("notifier".to_owned(), reason.to_owned());
    assert_eq!(said, ["malformed", "unknown-version", "unknown-kind"].map(of));
    assert_eq!(backlog(&world, Topic::ReadChanged).await, 0);
}

/// Before partitions are given back, what is merged is told; what is lost is told by the next owner.
#[tokio::test(start_paused = true)]
async fn partitions_are_drained_or_forgotten() {
    let mut world = world().await;
    let mut device = Device::connect(&world, U).await;
    let all = [partition(Topic::ConversationChanged), partition(Topic::ReadChanged)];
    world.say(message("c", 2, V)).await;
    world.turn().await;
    assert_eq!(device.sync(&world).await, [], "its window is open");
    world.notifier().drain(&all).await.unwrap();
    assert_eq!(device.sync(&world).await.len(), 1);
    world.say(message("c", 3, V)).await;
    world.turn().await;
    world.notifier().forget(&all);
    world.settle().await;
    assert_eq!(device.sync(&world).await, []);
    world.start_notifier().await;
    world.settle().await;
    device.sync(&world).await;
    assert_eq!(device.unread("c"), 3);
}

/// Latencies are those of what was accepted, not of what is delivered again, and only where a device can see it.
#[tokio::test(start_paused = true)]
async fn latencies_are_of_what_devices_see() {
    let mut world = world().await;
    let pushes = |world: &World| {
        ["small", "medium", "large"]
            .map(|tier| world.metrics.ack_to_push_seconds.with_label_values(&[tier]).get_sample_count())
    };
    let messages = |world: &World| world.metrics.message_to_unread_seconds.get_sample_count();
    assert_eq!((pushes(&world), messages(&world)), ([0, 0, 0], 0), "nobody is there");
    let (mut reader, mut sender) = (Device::connect(&world, U).await, Device::connect(&world, V).await);
    world.say(message("c", 2, V)).await;
    world.say(ack("c", 2, V, U)).await;
    world.settle().await;
    assert_eq!((pushes(&world), messages(&world)), ([1, 0, 0], 1));
    let seconds = world.metrics.message_to_unread_seconds.get_sample_sum();
    assert!((0.02..0.1).contains(&seconds), "{seconds}");
    let again: Vec<NewRecord> = world
        .log
        .from(Topic::ReadChanged, 0)
        .into_iter()
        .map(|record| NewRecord {
            topic: Topic::ReadChanged,
            key: record.key.unwrap(),
            payload: record.payload,
            headers: record.headers,
        })
        .map(|record| record.with_header(header_name::ORIGIN, "replay"))
        .collect();
    world.hot.inner.flush();
    reader.sync(&world).await;
    sender.sync(&world).await;
    world.log.append(again).await.unwrap();
    world.settle().await;
    assert!(!sender.sync(&world).await.is_empty());
    assert_eq!((pushes(&world), messages(&world)), ([1, 0, 0], 1));
}
