//! Dead letters that an operator delivers again, or drops.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

use bytes::Bytes;
use readmark_domain::dead_letter::{Actor, LetterId, LetterState};
use readmark_events::{DeadLetterHeaders, Topic, header_name};
use readmark_log::NewRecord;
use readmark_repair::letters::{Acted, Action, Selection, act, list};
use readmark_runtime::clock::Clock;
use readmark_test_repair::{World, ack, mark};
use std::collections::BTreeSet;
use tokio_util::sync::CancellationToken;

async fn run(world: &World, action: Action, selection: &Selection, dry_run: bool) -> Acted {
    let stop = CancellationToken::new();
    let ended = act(&world.ports, action, selection, dry_run, &mut |_| (), &stop).await.unwrap();
    assert!(ended.error.is_none() && !ended.stopped, "{ended:?}");
    ended.acted
}

/// Messages 1 and 3 have come, 2 has not; 8 has acked 2, and 9 has marked 5. Both have waited in vain.
async fn with_letters(world: &World) {
    world.send([1, 3]).await;
    world.until_caught_up("catalog", &[Topic::ConversationEvents]).await;
    world.put(ack(7, 8, &[2], world.clock.now())).await;
    world.put(mark(9, 5, world.clock.now())).await;
    world.until_given_up(3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_sent_again_heals_without_another_ack() {
    let (world, _roles) = World::with_roles().await;
    with_letters(&world).await;
    let words: BTreeSet<_> = world.letters().await.iter().map(word).collect();
    let expected = [("aggregator", "message-missing"), ("watermark", "beyond-head")];
    assert_eq!(words, expected.map(|(role, reason)| (role.to_owned(), reason.to_owned())).into());

    world.send([2, 4, 5]).await;
    world.until_caught_up("catalog", &[Topic::ConversationEvents]).await;
    let acted = run(&world, Action::Redrive, &Selection::default(), false).await;
    assert_eq!((acted.done, acted.settled), (3, 0));
    world.until_read_by(2, &[8, 9]).await;
    for n in [1, 3, 4, 5] {
        world.until_read_by(n, &[9]).await;
    }
    assert_eq!((world.read_of(8).await, world.read_of(9).await), (2, 5));
    world.until_letters(LetterState::Redelivered, 3).await;
    let resolution = world.letters().await[0].resolution.unwrap();
    assert_eq!(resolution.by, Actor::Operator);

    // Everything again is nothing new.
    let acted = run(&world, Action::Redrive, &Selection::default(), false).await;
    assert_eq!((acted.done, acted.settled), (0, 3));
    let again = Selection { states: BTreeSet::from([LetterState::Redelivered]), ..Selection::default() };
    assert_eq!(run(&world, Action::Redrive, &again, false).await.done, 3);
    world.until_caught_up("aggregator", &[Topic::Acks]).await;
    world.until_caught_up("watermark", &[Topic::Acks, Topic::Marks]).await;
    world.until_read_by(2, &[8, 9]).await;
    assert_eq!(world.letters().await.len(), 3);
}

fn word(seen: &readmark_repair::letters::Seen) -> (String, String) {
    let headers = seen.letter.headers.as_ref().unwrap();
    (headers.role.clone(), headers.reason.clone())
}

/// What fails again is a letter of the same record, of the same role, with one attempt more; two roles that each had
/// a letter still have one each.
#[tokio::test(flavor = "multi_thread")]
async fn what_fails_again_is_one_letter_with_one_attempt_more() {
    let (world, _roles) = World::with_roles().await;
    with_letters(&world).await;
    let before: Vec<DeadLetterHeaders> =
        world.letters().await.into_iter().map(|seen| seen.letter.headers.unwrap()).collect();
    assert_eq!(run(&world, Action::Redrive, &Selection::default(), false).await.done, 3);
    world.until_letters(LetterState::Open, 0).await;
    for topic in [Topic::Acks, Topic::Marks] {
        let redelivered = world.records(topic).await;
        assert!(redelivered.iter().any(|record| record.header(header_name::ORIGIN) == Some("redrive")));
        assert!(redelivered.iter().all(|record| record.header(header_name::REASON).is_none()));
    }
    world.until_given_up(3).await;
    let mut after: Vec<DeadLetterHeaders> =
        world.letters_in(LetterState::Open).await.into_iter().map(|s| s.letter.headers.unwrap()).collect();
    for headers in &mut after {
        assert_eq!(headers.attempts, 2);
        headers.attempts = 1;
    }
    let by_role = |letters: Vec<DeadLetterHeaders>| {
        let mut letters: Vec<_> = letters
            .into_iter()
            .map(|h| (h.role, h.reason, h.source, h.attempts, h.first_failed_at_ms))
            .collect();
        letters.sort();
        letters
    };
    assert_eq!(by_role(after), by_role(before), "the same matters, with when and where they began");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_selection_means_what_it_says() {
    let (world, _roles) = World::with_roles().await;
    with_letters(&world).await;
    let letters = world.letters().await;
    let of_marks = Selection { source_topic: Some(Topic::Marks), ..Selection::default() };
    let missing =
        Selection { reasons: BTreeSet::from(["message-missing".to_owned()]), ..Selection::default() };
    let since_now = Selection { since: Some(world.clock.now().plus_ms(1)), ..Selection::default() };
    let first = letters[0].letter.id();
    let nowhere = LetterId { partition: 99, offset: 7 };
    let behind = LetterId { partition: first.partition, offset: 1_000 };
    let named = Selection { ids: BTreeSet::from([first, nowhere, behind]), ..Selection::default() };
    for (selection, count) in [(&of_marks, 1), (&missing, 1), (&since_now, 0), (&named, 1)] {
        let listed = list(&world.ports, selection, 100).await.unwrap();
        assert_eq!(listed.letters.len(), count, "{selection:?}");
        assert_eq!(run(&world, Action::Drop, selection, true).await.done, count as u64, "{selection:?}");
    }
    let listed = list(&world.ports, &Selection::default(), 2).await.unwrap();
    assert!(listed.letters.len() == 2 && listed.more);
    assert_eq!(world.letters_in(LetterState::Open).await.len(), 3, "a dry run does nothing");

    let acted = run(&world, Action::Drop, &named, false).await;
    assert_eq!((acted.done, acted.missing), (1, BTreeSet::from([nowhere, behind])));
    assert_eq!(world.letters_in(LetterState::Dropped).await[0].letter.id(), first);
    assert_eq!(run(&world, Action::Redrive, &named, false).await.done, 0, "dropped is dropped");
}

/// Somebody has put a record among the dead letters that is none.
#[tokio::test(flavor = "multi_thread")]
async fn what_says_not_where_it_belongs_stays() {
    let world = World::new().await;
    let stray = |headers: Vec<(String, String)>| NewRecord {
        topic: Topic::DeadLetters,
        key: Bytes::from_static(b"7"),
        payload: Bytes::from_static(b"{}"),
        headers,
    };
    world.put(stray(Vec::new())).await;
    let headers = DeadLetterHeaders {
        reason: "malformed".to_owned(),
        detail: String::new(),
        role: "aggregator".to_owned(),
        source: readmark_events::Source { topic: Topic::DeadLetters, partition: 0, offset: 0 },
        attempts: 1,
        first_failed_at_ms: 1,
    };
    world.put(stray(headers.to_headers())).await;
    let acted = run(&world, Action::Redrive, &Selection::default(), false).await;
    assert_eq!((acted.done, acted.homeless), (0, 2));
    assert_eq!(run(&world, Action::Drop, &Selection::default(), false).await.done, 2);
    world.until_letters(LetterState::Dropped, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_is_heard_and_the_rest_is_done_the_next_time() {
    let (world, _roles) = World::with_roles().await;
    with_letters(&world).await;
    let stop = CancellationToken::new();
    stop.cancel();
    let ended =
        act(&world.ports, Action::Redrive, &Selection::default(), false, &mut |_| (), &stop).await.unwrap();
    assert!(ended.stopped && ended.acted.done == 0);
    assert_eq!(run(&world, Action::Redrive, &Selection::default(), false).await.done, 3);
}
