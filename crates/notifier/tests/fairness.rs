//! A message to thousands keeps no small group waiting.
#![allow(clippy::unwrap_used, reason = "a test may stop at what is impossible")]

mod support;

use readmark_domain::id::{ConversationId, Uid};
use readmark_domain::register::Presence;
use readmark_domain::time::Order;
use readmark_runtime::clock::Clock;
use readmark_store::{MemberChange, MemberStore};
use support::{Device, World, conversation, joined, message, seq, uid};

const MEMBERS: u64 = 4_999;
const SENDER: u64 = 1;

/// A group of 5,000, all of whom have been seen lately.
async fn world_of_5_000() -> World {
    let mut world = World::new().await;
    let presence = Presence::new(Order::new(1).unwrap(), true);
    let changes: Vec<MemberChange> =
        (1..=MEMBERS).map(|user| MemberChange { uid: uid(user), presence, joined: Some(seq(0)) }).collect();
    world.store.change_members(&conversation("many"), &changes).await.unwrap();
    world.say(joined("many", MEMBERS + 1, 0, 5)).await;
    for user in [SENDER, 9_001, 9_002] {
        world.say(joined("few", user, 0, 5)).await;
    }
    world.settle().await;
    for user in 1..=MEMBERS + 1 {
        world.live.picture(uid(user)).await.unwrap();
    }
    world
}

fn calls_about(world: &World, id: &ConversationId) -> Vec<usize> {
    let calls = world.hot.calls.lock().unwrap();
    let about = |told: &[(Uid, ConversationId)]| told.iter().any(|(_, of)| of == id);
    (0..calls.len()).filter(|at| about(&calls[*at])).collect()
}

#[tokio::test(start_paused = true)]
async fn a_small_group_is_told_between_two_slices() {
    let mut world = world_of_5_000().await;
    let mut device = Device::connect(&world, 9_001).await;
    let calls_before = world.hot.calls.lock().unwrap().len();
    world.say(message("many", 1, SENDER)).await;
    world.turn().await;
    world.clock.sleep_ms(1_000).await;
    world.turn().await;
    assert_eq!(calls_about(&world, &conversation("many")).last(), Some(&calls_before), "it has begun");
    world.say(message("few", 1, SENDER)).await;
    world.turn().await;
    world.clock.sleep_ms(20).await;
    world.turn().await;
    device.sync(&world).await;
    assert_eq!(device.unread("few"), 1, "told in the round after its window");
    world.settle().await;
    let (many, few) = (conversation("many"), conversation("few"));
    let after = calls_about(&world, &many).into_iter().filter(|at| *at > calls_about(&world, &few)[0]);
    assert!(after.count() > 3, "the large fan-out had not ended");
    let told: usize = world.hot.calls.lock().unwrap()[calls_before..].iter().map(Vec::len).sum();
    assert_eq!(told, 5_000 + 3, "everybody once");
}

/// Two messages a second apart are merged while the first is on its way.
#[tokio::test(start_paused = true)]
async fn the_newest_head_wins() {
    let mut world = world_of_5_000().await;
    let calls_before = world.hot.calls.lock().unwrap().len();
    for n in 1..=50 {
        world.say(message("many", n, SENDER)).await;
    }
    world.settle().await;
    let told: usize = world.hot.calls.lock().unwrap()[calls_before..].iter().map(Vec::len).sum();
    assert_eq!(told, 5_000, "one window, one fan-out");
    let device = Device::connect(&world, 77).await;
    assert_eq!(device.unread("many"), 50);
}
