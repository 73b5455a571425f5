//! Stretches of topics delivered again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

use bytes::Bytes;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use readmark_domain::time::TimeMs;
use readmark_events::{Topic, header_name};
use readmark_log::{NewRecord, TopicPartition};
use readmark_repair::replay::{Ended, Replay, Report, replay};
use readmark_repair::{Filter, Rate, RepairError, Stretch};
use readmark_runtime::clock::Clock;
use readmark_test_repair::{World, ack, id, mark, seq, uid};
use std::collections::BTreeMap;
use tokio_util::sync::CancellationToken;

const MESSAGES: u64 = 40;

fn all_of(topic: Topic) -> Replay {
    let stretch = Stretch::Time { from: TimeMs::ZERO, to: None };
    Replay { topic, stretch, filter: Filter::default(), rate: Rate::default(), dry_run: false }
}

async fn run(world: &World, what: &Replay) -> Report {
    let stop = CancellationToken::new();
    let Ended { report, error } = replay(&world.ports, what, &mut |_| (), &stop).await.unwrap();
    assert!(error.is_none() && report.is_complete(), "{error:?} {report:?}");
    report
}

async fn usage_error(world: &World, what: &Replay) -> String {
    match replay(&world.ports, what, &mut |_| (), &CancellationToken::new()).await {
        Err(RepairError::Usage(words)) => words,
        other => panic!("{other:?}"),
    }
}

/// Two senders, acks of some messages and marks of the others.
async fn play(world: &World) {
    world.send(1..=MESSAGES / 2).await;
    for n in MESSAGES / 2 + 1..=MESSAGES {
        world.put(readmark_test_repair::message(8, n, world.clock.now())).await;
    }
    world.until_caught_up("catalog", &[Topic::ConversationEvents]).await;
    for n in 1..=MESSAGES / 2 {
        world.put(ack(7, 9, &[n], world.clock.now())).await;
        world.put(mark(8, n, world.clock.now())).await;
        world.clock.advance_ms(10);
    }
    world.put(ack(8, 7, &[MESSAGES], world.clock.now())).await;
    settled(world).await;
}

/// Waits until the roles have done with everything, also with what they hand on to each other.
async fn settled(world: &World) {
    for _ in 0..2 {
        world.until_caught_up("watermark", &[Topic::Acks, Topic::Marks]).await;
        world.until_caught_up("aggregator", &[Topic::Acks]).await;
    }
}

/// Everything that the acks and marks have brought about.
async fn state(world: &World) -> String {
    let store = &world.ports.store;
    let seqs: Vec<_> = (1..=MESSAGES).map(seq).collect();
    let mut state = format!("{:?}\n", store.read_arrays(&id(), &seqs).await.unwrap());
    for user in [7, 8, 9] {
        state.push_str(&format!("{:?}\n", store.user_conversation(uid(user), &id()).await.unwrap()));
    }
    state
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_again_changes_nothing() {
    let (world, _roles) = World::with_roles().await;
    play(&world).await;
    let before = state(&world).await;
    for topic in [Topic::ConversationEvents, Topic::Acks, Topic::Marks] {
        let records = world.records(topic).await.len() as u64;
        let counted = run(&world, &Replay { dry_run: true, ..all_of(topic) }).await;
        assert_eq!((counted.read, counted.sent), (records, records));
        assert_eq!(world.records(topic).await.len() as u64, records, "a dry run appends nothing");
        let report = run(&world, &all_of(topic)).await;
        assert_eq!((report.read, report.sent), (records, records));
        settled(&world).await;
        assert_eq!(state(&world).await, before, "after {topic}");
    }
    assert!(world.letters().await.is_empty());
}

/// A second replay delivers what the first one did, not what it brought: the topic grows by its own size each time.
#[tokio::test(flavor = "multi_thread")]
async fn a_replay_does_not_repeat_the_replays_before_it() {
    let (world, _roles) = World::with_roles().await;
    play(&world).await;
    let originals = world.records(Topic::Marks).await.len() as u64;
    for round in 0..4 {
        let report = run(&world, &all_of(Topic::Marks)).await;
        assert_eq!((report.sent, report.repeats), (originals, originals * round));
    }
    // Of a stretch that has lost its originals, the repeats are what is left to deliver.
    let ends: BTreeMap<_, _> = ends(&world, Topic::Marks).await;
    run(&world, &all_of(Topic::Marks)).await;
    let behind = Replay { stretch: Stretch::Offsets(ends), ..all_of(Topic::Marks) };
    let report = run(&world, &behind).await;
    assert_eq!((report.sent, report.repeats), (originals, 0));
}

async fn ends(world: &World, topic: Topic) -> BTreeMap<u32, u64> {
    let mut ends = BTreeMap::new();
    for partition in 0..world.ports.log.partitions(topic) {
        let end = world.ports.log.end_offset(TopicPartition { topic, partition }).await.unwrap();
        ends.insert(partition, end);
    }
    ends
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_name_the_origin_and_the_place() {
    let (world, _roles) = World::with_roles().await;
    play(&world).await;
    let originals = world.records(Topic::Acks).await;
    let ends = ends(&world, Topic::Acks).await;
    run(&world, &all_of(Topic::Acks)).await;
    let is_new = |r: &&readmark_log::Record| r.position.offset >= ends[&r.position.partition.partition];
    let again = world.records(Topic::Acks).await;
    let again: Vec<_> =
        again.iter().filter(is_new).filter(|r| r.header(header_name::ORIGIN).is_some()).collect();
    assert_eq!(again.len(), originals.len());
    for (original, record) in originals.iter().zip(again) {
        assert_eq!(record.payload, original.payload);
        assert_eq!(record.header(header_name::ORIGIN), Some("replay"));
        assert_eq!(record.header(header_name::SOURCE_OFFSET), Some(&*original.position.offset.to_string()));
        assert_eq!(record.position.partition, original.position.partition);
        assert_eq!(record.accepted_at(), None, "latencies ignore it");
    }
}

/// Slices of time in any order, some of them twice: nothing changes.
#[tokio::test(flavor = "multi_thread")]
async fn shuffled_slices_change_nothing() {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let (world, _roles) = World::with_roles().await;
    play(&world).await;
    let before = state(&world).await;
    let times = |records: Vec<readmark_log::Record>| {
        let times = records.into_iter().map(|record| record.appended_at);
        times.collect::<std::collections::BTreeSet<_>>()
    };
    for topic in [Topic::Acks, Topic::Marks] {
        let mut cuts: Vec<TimeMs> = times(world.records(topic).await).into_iter().collect();
        cuts.push(cuts.last().unwrap().plus_ms(1));
        let mut slices: Vec<(TimeMs, TimeMs)> = cuts.windows(2).map(|pair| (pair[0], pair[1])).collect();
        let twice: Vec<_> = slices.iter().copied().filter(|_| rng.random_bool(0.3)).collect();
        slices.extend(twice);
        slices.shuffle(&mut rng);
        for (from, to) in slices {
            let stretch = Stretch::Time { from, to: Some(to) };
            run(&world, &Replay { stretch, ..all_of(topic) }).await;
        }
    }
    settled(&world).await;
    assert_eq!(state(&world).await, before, "seed {seed}");
}

/// Stopped anywhere, gone on with, and repeated as a whole.
#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_replay_may_be_continued_and_repeated() {
    let (world, _roles) = World::with_roles().await;
    play(&world).await;
    let before = state(&world).await;
    let originals = world.records(Topic::Acks).await.len() as u64;
    // One record a batch, so that it can be stopped between any two.
    let slowly = Replay { rate: Rate::new(9).unwrap(), ..all_of(Topic::Acks) };
    let stop = CancellationToken::new();
    let mut on_progress = |report: &Report| {
        if report.sent == 11 {
            stop.cancel();
        }
    };
    let ended = replay(&world.ports, &slowly, &mut on_progress, &stop).await.unwrap();
    assert!(ended.error.is_none() && !ended.report.is_complete());
    assert_eq!(ended.report.sent, 11);

    let rest: BTreeMap<_, _> = ended.report.partitions.iter().map(|p| (p.partition, p.next)).collect();
    let left: u64 = ended.report.partitions.iter().map(|p| p.end - p.next).sum();
    let report = run(&world, &Replay { stretch: Stretch::Offsets(rest), ..all_of(Topic::Acks) }).await;
    // What the first part brought lies behind the rest; its originals do not.
    assert_eq!((report.sent, left), (originals, originals - 11));
    let report = run(&world, &all_of(Topic::Acks)).await;
    assert_eq!(report.sent, originals);
    settled(&world).await;
    assert_eq!(state(&world).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_match_where_a_fact_names_them() {
    let (world, _roles) = World::with_roles().await;
    play(&world).await;
    let counted = |topic, filter| {
        let what = Replay { filter, dry_run: true, ..all_of(topic) };
        let world = &world;
        async move { run(world, &what).await.sent }
    };
    let sender = |n| Filter { sender: Some(uid(n)), ..Filter::default() };
    let here = Filter { conversation: Some(id()), ..Filter::default() };
    let elsewhere = readmark_domain::id::ConversationId::new("elsewhere").unwrap();
    let elsewhere = Filter { conversation: Some(elsewhere), ..Filter::default() };
    let half = MESSAGES / 2;
    assert_eq!(counted(Topic::ConversationEvents, sender(7)).await, half);
    assert_eq!(counted(Topic::ConversationEvents, sender(8)).await, half);
    assert_eq!(counted(Topic::ConversationEvents, here.clone()).await, MESSAGES + 3);
    assert_eq!(counted(Topic::Acks, sender(9)).await, 0);
    assert!(counted(Topic::Acks, sender(8)).await >= 1);
    assert_eq!(counted(Topic::Marks, here.clone()).await, half);
    assert!(counted(Topic::ConversationChanged, sender(7)).await >= 1);
    assert_eq!(counted(Topic::ConversationChanged, sender(9)).await, 0);
    assert!(counted(Topic::ReadChanged, sender(7)).await >= half);
    for topic in [Topic::ConversationEvents, Topic::Acks, Topic::Marks, Topic::ReadChanged] {
        assert_eq!(counted(topic, elsewhere.clone()).await, 0, "{topic}");
        let all = world.records(topic).await.len() as u64;
        assert_eq!(counted(topic, here.clone()).await, all, "{topic}");
    }
    let both = Filter { sender: Some(uid(7)), ..here };
    assert!(counted(Topic::Acks, both).await >= half);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_is_refused_in_words() {
    let world = World::new().await;
    world.put(mark(8, 1, world.clock.now())).await;
    let of = |topic, stretch| Replay { stretch, ..all_of(topic) };
    let words = usage_error(&world, &all_of(Topic::DeadLetters)).await;
    assert!(words.contains("dead-letters redrive"), "{words}");
    let filter = Filter { sender: Some(uid(7)), ..Filter::default() };
    let words = usage_error(&world, &Replay { filter, ..all_of(Topic::Marks) }).await;
    assert!(words.contains("marks names a sender"), "{words}");
    let words = usage_error(&world, &of(Topic::Marks, Stretch::Offsets([(3, 0)].into()))).await;
    assert!(words.contains("the partitions 0 to 2"), "{words}");
    let words = usage_error(&world, &of(Topic::Marks, Stretch::Offsets([(0, 99)].into()))).await;
    assert!(words.contains("marks/0 ends at the offset"), "{words}");
    let backwards = Stretch::Time { from: world.clock.now(), to: Some(world.clock.now()) };
    let words = usage_error(&world, &of(Topic::Marks, backwards)).await;
    assert!(words.contains("ends before it begins"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_fact_is_left_to_the_dead_letters() {
    let world = World::new().await;
    world.put(mark(8, 1, world.clock.now())).await;
    let other = mark(8, 2, world.clock.now());
    for record in [
        NewRecord { payload: Bytes::from_static(b"garbage"), ..other.clone() },
        NewRecord { key: Bytes::from_static(b"9"), ..other },
    ] {
        world.put(record).await;
    }
    let report = run(&world, &all_of(Topic::Marks)).await;
    assert_eq!((report.read, report.sent, report.unreadable), (3, 1, 2));
}

/// A stretch ends where the topic ended at its beginning, though it appends to the same topic.
#[tokio::test(flavor = "multi_thread")]
async fn times_bound_a_stretch() {
    let world = World::new().await;
    let start = world.clock.now();
    for n in 1..=5 {
        world.clock.advance_ms(100);
        world.put(mark(8, n, world.clock.now())).await;
    }
    let between = |from: u64, to: Option<u64>| Replay {
        stretch: Stretch::Time { from: start.plus_ms(from), to: to.map(|to| start.plus_ms(to)) },
        dry_run: true,
        ..all_of(Topic::Marks)
    };
    for (from, to, expected) in [
        (0, None, 5),
        (100, None, 5),
        (101, None, 4),
        (600, None, 0),
        (200, Some(400), 2),
        (500, Some(501), 1),
    ] {
        assert_eq!(run(&world, &between(from, to)).await.sent, expected, "{from} to {to:?}");
    }
}
