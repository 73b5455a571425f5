//! The janitor, on a clock that the test turns.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

use bytes::Bytes;
use readmark_domain::dead_letter::{Actor, LetterState};
use readmark_events::{RedeliveredBy, Topic, header_name};
use readmark_log::NewRecord;
use readmark_repair::letters::{Action, Seen, Selection, act};
use readmark_runtime::clock::Clock;
use readmark_test_repair::{Running, Which, World, ack, message};
use std::collections::BTreeMap;
use tokio_util::sync::CancellationToken;

const SECOND_MS: u64 = 1_000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
/// Attempts of a record until it is buried: the first one, and ten redeliveries.
const ATTEMPTS: u32 = 11;

/// A record that no role can read: it fails at once, whenever it is delivered.
fn garbage(key: &'static str) -> NewRecord {
    NewRecord {
        topic: Topic::Acks,
        key: Bytes::from(key),
        payload: Bytes::from_static(b"no record"),
        headers: vec![("trace".to_owned(), "t1".to_owned())],
    }
}

fn attempts(letters: &[Seen]) -> Vec<u32> {
    letters.iter().map(|seen| seen.letter.headers.as_ref().unwrap().attempts).collect()
}

/// They are counted now and then, a partition in a round, so time passes meanwhile.
async fn buried_shown(world: &World, janitor: &Running, count: i64) {
    let metrics = janitor.janitor.as_ref().unwrap();
    world
        .until(&format!("{count} letters to be shown as buried"), || async {
            world.clock.advance_ms(SECOND_MS);
            let shown = metrics.buried.get();
            if shown == count { Ok(()) } else { Err(format!("{shown}")) }
        })
        .await;
}

/// The janitor has taken so many letters over, and has had a round.
async fn open_shown(world: &World, janitor: &Running, count: i64) {
    let metrics = janitor.janitor.as_ref().unwrap();
    world
        .until(&format!("{count} letters to be shown as open"), || async {
            let shown = metrics.open.get();
            if shown == count { Ok(()) } else { Err(format!("{shown}")) }
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_minute_ten_minutes_then_hourly_then_buried() {
    let (world, _roles) = World::with_roles().await;
    let janitor = world.start(Which::Janitor);
    world.put(garbage("7")).await;
    world.until_letters(LetterState::Open, 1).await;
    let first = world.letters().await.remove(0).letter.headers.unwrap();
    for redelivery in 1..ATTEMPTS {
        let pause_ms = match redelivery {
            1 => MINUTE_MS,
            2 => 10 * MINUTE_MS,
            _ => HOUR_MS,
        };
        let failed_at = of_key(&world.letters().await, "7").last().unwrap().letter.failed_at();
        // Shortly before it is due, nothing.
        let early = failed_at.plus_ms(pause_ms - SECOND_MS).since_ms(world.clock.now());
        world.clock.advance_ms(early);
        world.put(garbage("9")).await;
        world.until_letters(LetterState::Open, 2).await;
        open_shown(&world, &janitor, 2).await;
        let of_seven = of_key(&world.letters().await, "7");
        assert_eq!(of_seven.len(), redelivery as usize, "too early, before redelivery {redelivery}");
        dropped(&world, "9").await;
        world.clock.advance_ms(2 * SECOND_MS);
        world
            .until(&format!("redelivery {redelivery}"), || async {
                let letters = of_key(&world.letters().await, "7");
                if letters.len() == redelivery as usize + 1 {
                    Ok(())
                } else {
                    Err(format!("{}", letters.len()))
                }
            })
            .await;
    }
    buried_shown(&world, &janitor, 1).await;
    let letters = of_key(&world.letters().await, "7");
    assert_eq!(attempts(&letters), (1..=ATTEMPTS).collect::<Vec<_>>());
    let (last, redelivered) = letters.split_last().unwrap();
    assert_eq!((last.state(), last.resolution.unwrap().by), (LetterState::Buried, Actor::Janitor));
    assert!(redelivered.iter().all(|seen| seen.state() == LetterState::Redelivered));
    for seen in &letters {
        let headers = seen.letter.headers.as_ref().unwrap();
        assert_eq!((headers.source, headers.first_failed_at_ms), (first.source, first.first_failed_at_ms));
        assert_eq!(seen.letter.record.header("trace"), Some("t1"), "its own headers stay");
        assert_eq!(seen.letter.record.headers.len(), 9, "{:?}", seen.letter.record.headers);
    }
    // Nothing more comes of it, not after a day either.
    world.clock.advance_ms(24 * HOUR_MS);
    world.put(garbage("9")).await;
    world.until_letters(LetterState::Open, 1).await;
    open_shown(&world, &janitor, 1).await;
    assert_eq!(of_key(&world.letters().await, "7").len(), ATTEMPTS as usize);
    buried_shown(&world, &janitor, 1).await;

    // An operator sees to it.
    let stop = CancellationToken::new();
    act(&world.ports, Action::Drop, &Selection::default(), false, &mut |_| (), &stop).await.unwrap();
    buried_shown(&world, &janitor, 0).await;
    janitor.stop().await;
}

fn of_key(letters: &[Seen], key: &str) -> Vec<Seen> {
    let wanted = |seen: &&Seen| seen.letter.record.key.as_deref() == Some(key.as_bytes());
    letters.iter().filter(wanted).cloned().collect()
}

async fn dropped(world: &World, key: &str) {
    let ids = of_key(&world.letters_in(LetterState::Open).await, key);
    assert!(!ids.is_empty(), "or all would be dropped");
    let ids = ids.iter().map(|seen| seen.letter.id()).collect();
    let stop = CancellationToken::new();
    let selection = Selection { ids, ..Selection::default() };
    act(&world.ports, Action::Drop, &selection, false, &mut |_| (), &stop).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_comes_late_heals_by_itself() {
    let (world, _roles) = World::with_roles().await;
    let janitor = world.start(Which::Janitor);
    world.send([1, 3]).await;
    world.until_caught_up("catalog", &[Topic::ConversationEvents]).await;
    world.put(ack(7, 8, &[2], world.clock.now())).await;
    world.until_given_up(2).await;
    world.send([2]).await;
    world.until_caught_up("catalog", &[Topic::ConversationEvents]).await;
    world.clock.advance_ms(MINUTE_MS);
    world.until_read_by(2, &[8]).await;
    world.until_letters(LetterState::Redelivered, 2).await;
    assert_eq!(world.read_of(8).await, 2);
    assert_eq!(world.letters().await.len(), 2);
    janitor.stop().await;
}

/// An ack that both of its roles keep, for ever: each redelivery brings one letter of each, not two.
#[tokio::test(flavor = "multi_thread")]
async fn letters_of_two_roles_do_not_multiply() {
    let (world, _roles) = World::with_roles().await;
    let janitor = world.start(Which::Janitor);
    world.send([1, 3]).await;
    world.until_caught_up("catalog", &[Topic::ConversationEvents]).await;
    world.put(ack(7, 8, &[2], world.clock.now())).await;
    world
        .until("both to be buried", || async {
            world.clock.advance_ms(10 * MINUTE_MS);
            let buried = world.letters_in(LetterState::Buried).await.len();
            if buried == 2 { Ok(()) } else { Err(format!("{buried} of {}", world.letters().await.len())) }
        })
        .await;
    let mut by_role: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for seen in world.letters().await {
        let headers = seen.letter.headers.unwrap();
        by_role.entry(headers.role).or_default().push(headers.attempts);
    }
    let all: Vec<u32> = (1..=ATTEMPTS).collect();
    assert_eq!(by_role, BTreeMap::from([("aggregator".into(), all.clone()), ("watermark".into(), all)]));
    janitor.stop().await;
}

/// Two that know nothing of each other: what both deliver fails twice, and is one matter again.
#[tokio::test(flavor = "multi_thread")]
async fn two_janitors_do_no_harm() {
    let (world, _roles) = World::with_roles().await;
    let janitors = ["readmark", "other"].map(|prefix| Running::start(Which::Janitor, &world.ports, prefix));
    for key in ["7", "8", "9"] {
        world.put(garbage(key)).await;
    }
    world
        .until("all to be given up", || async {
            world.clock.advance_ms(10 * MINUTE_MS);
            let (all, open) = (world.letters().await, world.letters_in(LetterState::Open).await.len());
            let last = all.iter().filter(|s| s.letter.headers.as_ref().unwrap().attempts >= ATTEMPTS).count();
            if open == 0 && last >= 3 { Ok(()) } else { Err(format!("{open} open, {last} at the end")) }
        })
        .await;
    let letters = world.letters().await;
    // Each of the ten redeliveries may be made by both.
    assert!(letters.len() <= 3 * (1 + 2 * (ATTEMPTS as usize - 1)), "{} letters", letters.len());
    assert!(attempts(&letters).iter().all(|n| *n <= ATTEMPTS));
    for janitor in janitors {
        janitor.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_forgets_nothing_and_repeats_nothing() {
    let (world, _roles) = World::with_roles().await;
    let janitor = world.start(Which::Janitor);
    for key in ["7", "8"] {
        world.put(garbage(key)).await;
    }
    world.until_letters(LetterState::Open, 2).await;
    // One of them is delivered at once, by an operator; it fails at once.
    let id = world.letters().await[0].letter.id();
    let selection = Selection { ids: [id].into(), ..Selection::default() };
    let stop = CancellationToken::new();
    act(&world.ports, Action::Redrive, &selection, false, &mut |_| (), &stop).await.unwrap();
    world.until_letters(LetterState::Open, 2).await;
    assert_eq!(world.letters().await.len(), 3);
    janitor.kill().await;
    // Down for a day: everything is overdue.
    world.clock.advance_ms(24 * HOUR_MS);
    let janitor = world.start(Which::Janitor);
    world
        .until("both to have been delivered once", || async {
            let letters = world.letters().await.len();
            if letters == 5 { Ok(()) } else { Err(format!("{letters} letters")) }
        })
        .await;
    world.until_letters(LetterState::Open, 2).await;
    janitor.stop().await;
    let janitor = world.start(Which::Janitor);
    world.clock.advance_ms(MINUTE_MS / 2);
    world.put(garbage("9")).await;
    world.until_letters(LetterState::Open, 3).await;
    world.until_caught_up("aggregator", &[Topic::Acks]).await;
    assert_eq!(world.letters().await.len(), 6, "nothing was delivered before it was due");
    janitor.stop().await;
}

/// Cut off between delivering and noting it: delivered twice, counted once.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_delivered_and_not_noted_is_delivered_again() {
    let (world, _roles) = World::with_roles().await;
    world.send([1]).await;
    world.put(ack(7, 8, &[2], world.clock.now())).await;
    world.until_given_up(2).await;
    world.put(message(7, 2, world.clock.now())).await;
    world.until_caught_up("catalog", &[Topic::ConversationEvents]).await;
    for seen in world.letters().await {
        world.put(seen.letter.redelivery(RedeliveredBy::Janitor).unwrap()).await;
    }
    world.until_read_by(2, &[8]).await;
    let janitor = world.start(Which::Janitor);
    world.clock.advance_ms(MINUTE_MS);
    world.until_letters(LetterState::Redelivered, 2).await;
    world.until_caught_up("aggregator", &[Topic::Acks]).await;
    world.until_read_by(2, &[8]).await;
    assert_eq!(world.letters().await.len(), 2);
    let delivered =
        world.records(Topic::Acks).await.iter().filter(|r| r.header(header_name::ORIGIN).is_some()).count();
    assert_eq!(delivered, 4, "each of the two letters twice");
    janitor.stop().await;
}

/// Its seq belongs to another message for ever; delivering it again would raise the alarm again.
#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_of_seqs_and_a_stray_record_are_buried_at_once() {
    let (world, _roles) = World::with_roles().await;
    let janitor = world.start(Which::Janitor);
    world.send([1]).await;
    world.until_caught_up("catalog", &[Topic::ConversationEvents]).await;
    world.put(message(8, 1, world.clock.now())).await;
    let stray = NewRecord { topic: Topic::DeadLetters, ..garbage("7") };
    world.put(stray).await;
    // The same message id from another sender is no conflict: give it another id.
    world.put(conflicting(&world)).await;
    world.until_letters(LetterState::Buried, 2).await;
    buried_shown(&world, &janitor, 2).await;
    janitor.stop().await;
}

fn conflicting(world: &World) -> NewRecord {
    let record = message(8, 1, world.clock.now());
    let text = String::from_utf8(record.payload.to_vec()).unwrap().replace("9001", "9999");
    NewRecord { payload: Bytes::from(text), ..record }
}
