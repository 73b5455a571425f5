//! Large conversations: nobody is told of their messages; whoever reads catches up.
#![allow(clippy::unwrap_used, reason = "a test may stop at what is impossible")]

mod support;

use readmark_domain::register::Presence;
use readmark_domain::time::Order;
use readmark_runtime::clock::Clock;
use readmark_store::{ConversationStore, MemberChange, MemberStore, UserStore};
use support::{Device, World, ack, closed, conversation, joined, left, message, recalled, seq, uid};

const SENDER: u64 = 1;
/// The first joins are as old as this.
const ORDER: u64 = 1;

/// `count` members from the start, written as a catalog would.
async fn world_of(name: &str, count: u64) -> World {
    let mut world = World::new().await;
    let presence = Presence::new(Order::new(ORDER).unwrap(), true);
    let changes: Vec<MemberChange> =
        (1..=count).map(|user| MemberChange { uid: uid(user), presence, joined: Some(seq(0)) }).collect();
    world.store.change_members(&conversation(name), &changes).await.unwrap();
    world.say(joined(name, count + 1, 0, 5)).await;
    world.settle().await;
    world
}

async fn is_large(world: &World, name: &str) -> bool {
    world.store.conversation(&conversation(name)).await.unwrap().unwrap().large
}

fn users_told(world: &World) -> usize {
    world.hot.calls.lock().unwrap().iter().map(Vec::len).sum()
}

/// R12: of 6,000 members some are connected, one is not; all see it, and few are told.
#[tokio::test(start_paused = true)]
async fn whoever_reads_sees_the_newest() {
    let mut world = world_of("large", 6_000).await;
    assert!(is_large(&world, "large").await);
    world.say(joined("small", 50, 0, 5)).await;
    world.say(message("small", 1, SENDER)).await;
    world.settle().await;
    let mut connected = Vec::new();
    for user in 50..60 {
        connected.push(Device::connect(&world, user).await);
    }
    let told_before = users_told(&world);
    for n in 1..=5 {
        world.say(message("large", n, SENDER)).await;
        world.settle().await;
    }
    assert!(users_told(&world) - told_before < 100, "{} were told", users_told(&world) - told_before);
    world.clock.sleep_ms(2_000).await;
    for device in &mut connected {
        device.sync(&world).await;
        assert_eq!(device.unread("large"), 5);
        device.is_right(&world).await;
    }
    let offline = Device::connect(&world, 77).await;
    assert_eq!(offline.unread("large"), 5);
    offline.is_right(&world).await;
}

/// Whoever was there before it became large learns that it is; R24: messages, a leave, a late connection.
#[tokio::test(start_paused = true)]
async fn those_who_were_there_before_learn_that_it_is_large() {
    let mut world = world_of("c", 4_998).await;
    let mut device = Device::connect(&world, 7).await;
    world.say(message("c", 1, SENDER)).await;
    world.settle().await;
    assert_eq!(device.sync(&world).await.len(), 1, "told at once");
    for user in [6_000, 6_001] {
        world.say(joined("c", user, 1, 50)).await;
    }
    world.settle().await;
    assert!(is_large(&world, "c").await);
    world.say(message("c", 2, SENDER)).await;
    world.say(left("c", 6_000, 60)).await;
    world.settle().await;
    world.clock.sleep_ms(15_000).await;
    device.sync(&world).await;
    assert_eq!(device.unread("c"), 2);
    device.is_right(&world).await;
    let late = Device::connect(&world, 4_000).await;
    assert_eq!(late.unread("c"), 2);
    late.is_right(&world).await;
}

/// A recall is seen by whoever reads, a closing and an opening by all.
#[tokio::test(start_paused = true)]
async fn recalls_and_closings_are_seen() {
    let mut world = world_of("c", 5_500).await;
    for n in 1..=3 {
        world.say(message("c", n, SENDER)).await;
    }
    world.settle().await;
    let mut device = Device::connect(&world, 7).await;
    assert_eq!(device.unread("c"), 3);
    world.say(recalled("c", 2)).await;
    world.settle().await;
    world.clock.sleep_ms(2_000).await;
    device.sync(&world).await;
    assert_eq!(device.unread("c"), 2);
    for (is_closed, unread) in [(true, 0), (false, 2)] {
        world.say(closed("c", is_closed, 10 + unread)).await;
        world.settle().await;
        world.clock.sleep_ms(2_000).await;
        device.sync(&world).await;
        assert_eq!((device.unread("c"), device.total), (unread, unread));
    }
    device.is_right(&world).await;
}

/// Who leaves a large conversation, and who joins it, learns it itself.
#[tokio::test(start_paused = true)]
async fn roster_changes_are_told_to_those_concerned() {
    let mut world = world_of("c", 5_500).await;
    world.say(message("c", 1, SENDER)).await;
    world.settle().await;
    let (mut leaver, mut joiner) = (Device::connect(&world, 7).await, Device::connect(&world, 9_000).await);
    let told_before = users_told(&world);
    world.say(left("c", 7, 50)).await;
    world.say(joined("c", 9_000, 0, 50)).await;
    world.settle().await;
    assert!(users_told(&world) - told_before < 10);
    leaver.sync(&world).await;
    joiner.sync(&world).await;
    assert_eq!((leaver.unread("c"), joiner.unread("c")), (0, 1));
    assert!(world.store.user_conversation(uid(7), &conversation("c")).await.unwrap().is_some());
    joiner.is_right(&world).await;
}

/// I3: thousands of acks in a large group, one in a small group meanwhile.
#[tokio::test(start_paused = true)]
async fn a_burst_of_acks_keeps_nobody_waiting() {
    let mut world = world_of("large", 5_500).await;
    world.say(joined("small", 2, 0, 5)).await;
    world.say(message("large", 1, SENDER)).await;
    world.say(message("small", 1, SENDER)).await;
    world.settle().await;
    let mut device = Device::connect(&world, SENDER).await;
    let began_ms = world.clock.elapsed_ms();
    for reader in 2..=5_001 {
        world.say(ack("large", 1, SENDER, reader)).await;
        if reader == 2_500 {
            world.say(ack("small", 1, SENDER, 2)).await;
        }
    }
    while !device.tallies.contains_key(&("small".to_owned(), 1)) {
        if !world.turn().await {
            world.clock.sleep_ms(5).await;
        }
        device.sync(&world).await;
    }
    assert!(world.clock.elapsed_ms() - began_ms < 1_000);
    world.settle().await;
    let entries = device.sync(&world).await;
    assert!(entries.len() <= 3, "within the rate of its window: {}", entries.len());
    assert_eq!(device.tallies.get(&("large".to_owned(), 1)), Some(&(5_000, 5_500)));
}
