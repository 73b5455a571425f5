//! What readers' devices see of messages, recalls, marks and members, by way of the roles.
#![allow(clippy::unwrap_used, reason = "a test may stop at what is impossible")]

mod support;

use readmark_domain::fact::{ConversationFact, MessageSent};
use readmark_domain::hot::News;
use readmark_domain::id::Endpoint;
use support::{
    Device, World, ack, cleared, closed, joined, left, marked_unread, message, muted, read, recalled, sent,
    skipped, uid,
};

const U: u64 = 1;
const V: u64 = 2;

/// u and v are members of c; v has sent 1 … n.
async fn world_with(messages: u64) -> World {
    let mut world = World::new().await;
    for user in [U, V] {
        world.say(joined("c", user, 0, user)).await;
    }
    for n in 1..=messages {
        world.say(message("c", n, V)).await;
    }
    world.settle().await;
    world
}

async fn settle_and_sync(world: &mut World, device: &mut Device) {
    world.settle().await;
    device.sync(world).await;
    device.is_right(world).await;
}

/// S9: 5 unread, one recalled, restart.
#[tokio::test(start_paused = true)]
async fn a_recall_takes_one_away_also_across_a_restart() {
    let mut world = world_with(5).await;
    let mut device = Device::connect(&world, U).await;
    assert_eq!(device.unread("c"), 5);
    for n in [2, 4] {
        world.say(recalled("c", n)).await;
    }
    settle_and_sync(&mut world, &mut device).await;
    assert_eq!(device.unread("c"), 3);
    world.kill_notifier();
    world.hot.inner.flush();
    world.start_notifier().await;
    settle_and_sync(&mut world, &mut device).await;
    assert_eq!((device.unread("c"), device.snapshots), (3, 2));
}

/// C1, and C13: the recall comes before its message.
#[tokio::test(start_paused = true)]
async fn a_recall_is_told_whenever_it_comes() {
    let mut world = world_with(2).await;
    let mut device = Device::connect(&world, U).await;
    world.say(recalled("c", 2)).await;
    settle_and_sync(&mut world, &mut device).await;
    assert_eq!(device.unread("c"), 1);
    world.say(recalled("c", 3)).await;
    settle_and_sync(&mut world, &mut device).await;
    world.say(message("c", 3, V)).await;
    settle_and_sync(&mut world, &mut device).await;
    assert_eq!(device.unread("c"), 1, "no ghost");
}

/// C2: a message is sent and recalled, then the reader marks it.
#[tokio::test(start_paused = true)]
async fn a_recalled_message_is_never_unread_again() {
    let mut world = world_with(4).await;
    world.say(read("c", U, 4, "phone", 10)).await;
    world.settle().await;
    let mut device = Device::connect(&world, U).await;
    world.say(message("c", 5, V)).await;
    world.say(recalled("c", 5)).await;
    settle_and_sync(&mut world, &mut device).await;
    assert_eq!(device.unread("c"), 0);
    world.say(read("c", U, 5, "phone", 20)).await;
    settle_and_sync(&mut world, &mut device).await;
    assert_eq!((device.unread("c"), device.shows("c").read), (0, 5));
}

/// C5: mentions are counted the way messages are.
#[tokio::test(start_paused = true)]
async fn a_recall_takes_a_mention_away() {
    let mut world = world_with(0).await;
    let mut device = Device::connect(&world, U).await;
    for n in 1..=2 {
        let mention = MessageSent { mentions: vec![uid(U)], ..sent("c", n, V) };
        world.say(ConversationFact::MessageSent(mention)).await;
    }
    let to_all = MessageSent { mention_all: true, ..sent("c", 3, V) };
    world.say(ConversationFact::MessageSent(to_all)).await;
    settle_and_sync(&mut world, &mut device).await;
    assert_eq!((device.shows("c").mentions, device.mentions), (3, 3));
    world.say(recalled("c", 2)).await;
    settle_and_sync(&mut world, &mut device).await;
    assert_eq!((device.shows("c").mentions, device.unread("c")), (2, 2));
    let mut other = Device::connect(&world, V).await;
    settle_and_sync(&mut world, &mut other).await;
    assert_eq!((other.shows("c").mentions, other.unread("c")), (0, 0), "one's own are never unread");
}

/// D7: u leaves while the notifier is down, then reads everything.
#[tokio::test(start_paused = true)]
async fn who_left_while_nobody_was_told_has_no_total() {
    let mut world = world_with(3).await;
    let mut device = Device::connect(&world, U).await;
    assert_eq!(device.total, 3);
    world.kill_notifier();
    world.say(left("c", U, 50)).await;
    world.settle().await;
    world.start_notifier().await;
    settle_and_sync(&mut world, &mut device).await;
    assert_eq!((device.total, device.unread("c")), (0, 0));
}

/// D10: u never connected; 25 messages in a conversation that is new.
#[tokio::test(start_paused = true)]
async fn who_connects_late_sees_all_of_it() {
    let world = world_with(25).await;
    let device = Device::connect(&world, U).await;
    assert_eq!((device.unread("c"), device.total), (25, 25));
    device.is_right(&world).await;
}

/// B2, I6: the other device learns of a mark, and of those that follow only what changed.
#[tokio::test(start_paused = true)]
async fn the_other_device_sees_the_mark_once() {
    let mut world = world_with(7).await;
    let mut device = Device::connect(&world, U).await;
    world.say(read("c", U, 7, "phone", 10)).await;
    world.settle().await;
    let entries = device.sync(&world).await;
    assert_eq!(entries.len(), 1, "{entries:?}");
    let phone = Endpoint::new("phone").unwrap();
    let own = entries[0].clone().delivered_to(Some(&phone));
    assert!(matches!(&own.news, News::ConversationRead { own: true, .. }), "{own:?}");
    assert_eq!((device.shows("c").read, device.unread("c")), (7, 0));
    for (n, ms) in [(5, 20), (6, 30), (7, 40)] {
        world.say(read("c", U, n, "pc", ms)).await;
        world.settle().await;
        assert_eq!(device.sync(&world).await, []);
    }
}

/// R11: a first connection while a message is on its way, in every order.
#[tokio::test(start_paused = true)]
async fn who_connects_while_a_message_comes_sees_it() {
    for turns in 0..4 {
        let mut world = world_with(2).await;
        world.say(message("c", 3, V)).await;
        for _ in 0..turns {
            world.turn().await;
        }
        let mut device = Device::connect(&world, U).await;
        settle_and_sync(&mut world, &mut device).await;
        assert_eq!(device.unread("c"), 3, "after {turns} turns");
    }
}

/// R13: marked as unread, then read at the same seq.
#[tokio::test(start_paused = true)]
async fn a_read_takes_the_flag_away() {
    let mut world = world_with(2).await;
    world.say(read("c", U, 2, "phone", 10)).await;
    world.settle().await;
    let mut device = Device::connect(&world, U).await;
    world.say(marked_unread("c", U, true, 20)).await;
    settle_and_sync(&mut world, &mut device).await;
    assert!(device.shows("c").marked_unread);
    world.say(read("c", U, 2, "phone", 30)).await;
    world.settle().await;
    assert_eq!(device.sync(&world).await.len(), 1);
    assert!(!device.shows("c").marked_unread);
}

/// What is muted leaves the totals and comes back.
#[tokio::test(start_paused = true)]
async fn a_muted_conversation_leaves_the_totals() {
    let mut world = world_with(2).await;
    let mut device = Device::connect(&world, U).await;
    for (value, total) in [(true, 0), (false, 2)] {
        world.say(muted("c", U, value, 10 + total)).await;
        settle_and_sync(&mut world, &mut device).await;
        assert_eq!((device.total, device.unread("c")), (total, 2));
    }
}

/// R14, and a skip that makes numbers necessary: more uncounted seqs than are kept.
#[tokio::test(start_paused = true)]
async fn skipped_seqs_do_not_count() {
    let mut world = world_with(3).await;
    let mut device = Device::connect(&world, U).await;
    world.say(skipped("c", 4, 6)).await;
    world.say(message("c", 7, V)).await;
    settle_and_sync(&mut world, &mut device).await;
    assert_eq!(device.unread("c"), 4);
    world.say(skipped("c", 8, 500)).await;
    world.say(message("c", 501, V)).await;
    settle_and_sync(&mut world, &mut device).await;
    assert_eq!(device.unread("c"), 5);
    world.say(recalled("c", 501)).await;
    world.say(recalled("c", 2)).await;
    settle_and_sync(&mut world, &mut device).await;
    assert_eq!(device.unread("c"), 3);
}

/// R17, B5: what is in flight while somebody clears stays unread.
#[tokio::test(start_paused = true)]
async fn a_clear_reaches_as_far_as_it_says() {
    let mut world = world_with(4).await;
    let mut device = Device::connect(&world, U).await;
    world.say(cleared("c", U, 4, 10)).await;
    world.say(message("c", 5, V)).await;
    settle_and_sync(&mut world, &mut device).await;
    assert_eq!((device.unread("c"), device.shows("c").floor), (1, 4));
}

/// R28: closed, with a message meanwhile, then reopened.
#[tokio::test(start_paused = true)]
async fn a_closed_conversation_comes_back_with_what_it_missed() {
    let mut world = world_with(3).await;
    let mut device = Device::connect(&world, U).await;
    world.say(closed("c", true, 10)).await;
    settle_and_sync(&mut world, &mut device).await;
    assert_eq!((device.unread("c"), device.total), (0, 0));
    world.say(message("c", 4, V)).await;
    world.settle().await;
    assert_eq!(device.sync(&world).await, [], "nobody sees it");
    world.say(closed("c", false, 20)).await;
    settle_and_sync(&mut world, &mut device).await;
    assert_eq!((device.unread("c"), device.total), (4, 4));
}

/// R33: 100 recalls above the floor while marks rise.
#[tokio::test(start_paused = true)]
async fn many_recalls_while_marks_rise() {
    let mut world = world_with(250).await;
    let mut device = Device::connect(&world, U).await;
    for n in 0..100 {
        world.say(recalled("c", 50 + 2 * n)).await;
        if n % 10 == 0 {
            world.say(read("c", U, 40 + n, "phone", 100 + n)).await;
            settle_and_sync(&mut world, &mut device).await;
        }
    }
    settle_and_sync(&mut world, &mut device).await;
    assert_eq!(device.shows("c").read, 130);
}

/// Who joins is told the whole conversation; who leaves and joins again, again.
#[tokio::test(start_paused = true)]
async fn who_joins_sees_what_came_before_as_far_as_it_counts() {
    let mut world = world_with(3).await;
    let mut device = Device::connect(&world, 9).await;
    assert!(device.rows.is_empty());
    world.say(joined("c", 9, 1, 50)).await;
    settle_and_sync(&mut world, &mut device).await;
    assert_eq!(device.unread("c"), 2);
    world.say(left("c", 9, 60)).await;
    world.say(message("c", 4, V)).await;
    settle_and_sync(&mut world, &mut device).await;
    world.say(joined("c", 9, 4, 70)).await;
    world.say(message("c", 5, V)).await;
    settle_and_sync(&mut world, &mut device).await;
    assert_eq!(device.unread("c"), 1);
}

/// A join and a message right after it, while the members are remembered.
#[tokio::test(start_paused = true)]
async fn who_joins_right_before_a_message_sees_it() {
    let mut world = world_with(1).await;
    let mut device = Device::connect(&world, 9).await;
    world.say(message("c", 2, V)).await;
    world.settle().await;
    world.say(joined("c", 9, 2, 50)).await;
    world.settle().await;
    world.say(message("c", 3, V)).await;
    settle_and_sync(&mut world, &mut device).await;
    assert_eq!(device.unread("c"), 1);
}

/// One's own message clears one's own dot, and never shows as unread on the way.
#[tokio::test(start_paused = true)]
async fn ones_own_message_is_never_unread() {
    let mut world = world_with(3).await;
    let mut device = Device::connect(&world, U).await;
    for n in 4..=40 {
        world.say(message("c", n, U)).await;
        world.turn().await;
        device.sync(&world).await;
        assert!(device.unread("c") <= 3, "{device:?}");
    }
    settle_and_sync(&mut world, &mut device).await;
    assert_eq!(device.unread("c"), 0);
}

/// The sender's device sees N/M rise; what is told again is no entry (RR-6).
#[tokio::test(start_paused = true)]
async fn a_sender_sees_its_tally_once() {
    let mut world = world_with(1).await;
    let mut device = Device::connect(&world, V).await;
    world.say(ack("c", 1, V, U)).await;
    world.settle().await;
    assert_eq!(device.sync(&world).await.len(), 1);
    assert_eq!(device.tallies.get(&("c".to_owned(), 1)), Some(&(1, 1)));
    world.say(ack("c", 1, V, U)).await;
    world.settle().await;
    assert_eq!(device.sync(&world).await, []);
}
