//! How a user's hot state comes to be, whatever happens meanwhile.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use futures::FutureExt;
use futures::future::join_all;
use readmark_domain::hot::{Change, MessageCount, Picture, PictureRow};
use readmark_hot::{Begun, HotState, REBUILD_LEASE_MS, UserChange};
use readmark_http::HttpSettings;
use readmark_query::QuerySettings;
use readmark_runtime::clock::Clock;
use readmark_runtime::ports::Rules;
use readmark_sync::{Live, LiveSettings, SyncError, derived_picture};
use readmark_test_http_api::{Api, Token, conversation, seq, uid};
use std::sync::Arc;

async fn seeded() -> Api {
    let api = Api::default();
    for id in ["c1", "c2"] {
        api.seed.joins(id, &[7, 8], 0).await;
        api.seed.sends(id, 7, 1..=3).await;
    }
    api
}

fn with_live(settings: &LiveSettings) -> Api {
    Api::with_live(Rules::default(), HttpSettings::default(), QuerySettings::default(), settings)
}

fn rebuilds(api: &Api) -> u64 {
    let families = api.registry.gather();
    let of = |family: &&prometheus::proto::MetricFamily| family.name() == "readmark_hot_rebuilds_total";
    families.iter().find(of).unwrap().get_metric()[0].get_counter().get_value() as u64
}

async fn total(api: &Api, who: u64) -> String {
    let answer = api.get(Token::User(who), "/v1/unread").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["total"].as_str().unwrap().to_owned()
}

/// What must be the same, whichever way it was made.
fn rows(picture: Picture) -> (MessageCount, MessageCount, Vec<PictureRow>) {
    (picture.total, picture.total_mentions, picture.rows)
}

#[tokio::test(start_paused = true)]
async fn many_calls_of_one_user_make_one_rebuild() {
    let api = seeded().await;
    let calls = (0..100).map(|_| total(&api, 8));
    assert!(join_all(calls).await.iter().all(|total| total == "6"));
    assert_eq!((rebuilds(&api), api.hot.calls("begin_rebuild")), (1, 1));
    assert_eq!(total(&api, 8).await, "6");
    assert_eq!(rebuilds(&api), 1, "it stays");
    api.hot.inner().flush();
    assert_eq!(total(&api, 8).await, "6");
    assert_eq!(rebuilds(&api), 2);
}

/// R11: a message is applied and told while the rebuild is between any two steps.
#[tokio::test(start_paused = true)]
async fn what_is_told_meanwhile_is_merged() {
    let api = seeded().await;
    let (seed, hot) = (api.seed.clone(), api.hot.inner());
    let meanwhile = async move {
        seed.sends("c2", 7, [4]).await;
        let change = Change { head: seq(4), read: seq(2), floor: seq(2), ..Change::default() };
        let told = |id: &str| UserChange {
            uid: uid(8),
            conversation_id: conversation(id),
            change: Arc::new(change.clone()),
        };
        let told = hot.apply(&[told("c2")]).await.remove(0).unwrap().unwrap();
        assert_eq!(told.appended, 0, "nothing is told while it is rebuilt");
    };
    api.hot.after_begin(meanwhile.boxed());
    let answer = api.get(Token::User(8), "/v1/unread").await.json();
    assert_eq!(answer["total"], "5", "{answer}");
    assert_eq!(answer["conversations"].as_array().unwrap().len(), 2);
}

/// A state that is lost while it is made is made again; who loses it again and again is answered from the store.
#[tokio::test(start_paused = true)]
async fn a_state_lost_meanwhile_is_made_again() {
    let api = seeded().await;
    let hot = api.hot.inner();
    api.hot.after_begin(async move { hot.flush() }.boxed());
    assert_eq!(total(&api, 8).await, "6");
    assert_eq!((rebuilds(&api), api.hot.calls("begin_rebuild")), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn another_process_is_waited_for() {
    let api = seeded().await;
    let Begun::Rebuild(epoch) = api.hot.inner().begin_rebuild(uid(8)).await.unwrap() else {
        panic!("nothing was there")
    };
    let (hot, clock) = (api.hot.inner(), api.clock.clone());
    let other = async move {
        clock.sleep_ms(400).await;
        hot.complete_rebuild(uid(8), &epoch).await.unwrap();
    };
    let (answer, ()) = futures::join!(api.get(Token::User(8), "/v1/unread"), other);
    assert_eq!(
        answer.json()["total"],
        "0",
        "what the other one has made, whole or not: it is not made twice"
    );
    assert_eq!(rebuilds(&api), 0);
}

/// A process that died in the middle keeps the state for its lease: meanwhile the store answers.
#[tokio::test(start_paused = true)]
async fn a_dead_rebuild_is_taken_over() {
    let api = seeded().await;
    api.hot.inner().begin_rebuild(uid(8)).await.unwrap();
    let started_ms = api.clock.elapsed_ms();
    let answer = api.get(Token::User(8), "/v1/unread").await.json();
    assert_eq!((&answer["total"], &answer["token"]), (&"6".into(), &"store.0".into()));
    assert!(api.clock.elapsed_ms() - started_ms < 5_000, "nobody waits for the lease");
    api.clock.sleep_ms(REBUILD_LEASE_MS).await;
    let answer = api.get(Token::User(8), "/v1/unread").await.json();
    assert_eq!(answer["total"], "6");
    assert_ne!(answer["token"], "store.0", "the rebuild went on and took the place");
    assert_eq!(rebuilds(&api), 1);
}

/// A rebuild that fails leaves nothing behind that others would wait for.
#[tokio::test(start_paused = true)]
async fn a_failed_rebuild_is_begun_anew_at_once() {
    let api = seeded().await;
    for answers in 0..12 {
        api.hot.inner().flush();
        api.store.away_after(answers);
        let answer = api.get(Token::User(8), "/v1/unread").await;
        assert!(matches!(answer.status.as_u16(), 200 | 503), "{}", answer.text);
        api.store.away_after(u64::MAX);
        let started_ms = api.clock.elapsed_ms();
        assert_eq!(total(&api, 8).await, "6", "after {answers} calls of the store");
        assert!(api.clock.elapsed_ms() - started_ms < 1_000, "not after the lease");
    }
}

#[tokio::test(start_paused = true)]
async fn rebuilds_have_a_pace_and_a_bound() {
    let settings = LiveSettings { rebuilds_per_s: 10, rebuilds_at_once: 2, ..LiveSettings::default() };
    let api = with_live(&settings);
    api.seed.joins("c1", &(100..120).collect::<Vec<_>>(), 0).await;
    api.seed.sends("c1", 7, 1..=3).await;
    let started_ms = api.clock.elapsed_ms();
    let totals = join_all((100..120).map(|who| total(&api, who))).await;
    assert!(totals.iter().all(|total| total == "3"));
    let took_ms = api.clock.elapsed_ms() - started_ms;
    assert!((1_900..=2_200).contains(&took_ms), "twenty at ten a second: {took_ms} ms");
    assert_eq!(rebuilds(&api), 20);
}

/// More users than can be rebuilt in some seconds: the rest is computed from the store or refused, and is never zero.
#[tokio::test(start_paused = true)]
async fn a_flood_of_users_is_answered_or_refused() {
    let settings = LiveSettings { rebuilds_per_s: 1, rebuilds_at_once: 1, derived_at_once: 1 };
    let api = with_live(&settings);
    let users: Vec<u64> = (1_000..2_200).collect();
    api.seed.joins("c1", &users, 0).await;
    api.seed.sends("c1", 7, 1..=3).await;
    let mut from_store = 0;
    let pictures = join_all(users.iter().map(|who| api.live.picture(uid(*who)))).await;
    for picture in &pictures {
        match picture {
            Ok(picture) => {
                assert_eq!(picture.total.get(), 3);
                from_store += u64::from(Live::is_derived(&picture.token));
            }
            Err(error) => assert!(matches!(error, SyncError::Overloaded { .. }), "{error}"),
        }
    }
    assert!(from_store > 0, "some of those that could not wait");
    assert!(pictures.iter().flatten().count() > 3, "and some were rebuilt");
}

/// More uncounted seqs and mentions than a state keeps, above and below the head: numbers take their place.
#[tokio::test(start_paused = true)]
async fn many_recalls_and_mentions_are_counted() {
    for (recalls, mentions, beyond) in
        [(64, 64, 0), (65, 0, 0), (0, 65, 3), (100, 100, 0), (100, 70, 100), (3, 3, 90)]
    {
        let api = Api::default();
        api.seed.joins("c1", &[7, 8], 0).await;
        api.seed.sends("c1", 7, 1..=300).await;
        let id = conversation("c1");
        for n in 0..mentions {
            api.seed.0.add_mentions(&id, seq(1 + 3 * n), &[uid(8)]).await.unwrap();
        }
        for n in (0..recalls).map(|n| 1 + 2 * n).chain((0..beyond).map(|n| 301 + n)) {
            api.seed.recalls("c1", n).await;
        }
        let case = format!("{recalls} recalls, {mentions} mentions, {beyond} recalled beyond the head");
        let expected = derived_picture(&*api.seed.0, uid(8)).await.unwrap();
        let picture = api.live.picture(uid(8)).await.unwrap();
        assert_eq!(picture.total.get(), 300 - recalls, "{case}");
        assert_eq!(rows(picture), rows(expected), "{case}");
        // The messages come whose recall was faster.
        for n in 301..=310 {
            api.seed.sends("c1", 7, [n]).await;
            let change = Change { head: seq(n), ..Change::default() };
            let told = UserChange { uid: uid(8), conversation_id: id.clone(), change: Arc::new(change) };
            let told = readmark_sync::apply_until_counted(&*api.hot.inner(), &*api.seed.0, &[told]).await;
            assert!(told.into_iter().all(|told| told.is_ok()));
        }
        let expected = derived_picture(&*api.seed.0, uid(8)).await.unwrap();
        let picture = api.live.picture(uid(8)).await.unwrap();
        assert_eq!(rows(picture), rows(expected), "{case}, then ten more");
    }
}

/// A conversation that was closed, and one that was left, when the state was made: they come back as they are.
#[tokio::test(start_paused = true)]
async fn what_is_closed_is_in_the_state_too() {
    let api = seeded().await;
    api.seed.recalls("c1", 2).await;
    api.seed.closes("c1", true, 5).await;
    api.seed.leaves("c2", &[8]).await;
    assert_eq!(total(&api, 8).await, "0");
    api.seed.closes("c1", false, 6).await;
    let closed = api.seed.0.conversation(&conversation("c1")).await.unwrap().unwrap().closed;
    let change = Change { closed, ..Change::default() };
    let told = UserChange { uid: uid(8), conversation_id: conversation("c1"), change: Arc::new(change) };
    api.hot.apply(&[told]).await.remove(0).unwrap();
    assert_eq!(total(&api, 8).await, "2", "opened again");
}

/// A user's calls keep its state alive; it is gone 30 days after the last one, and comes back.
#[tokio::test(start_paused = true)]
async fn a_state_lives_after_the_last_call() {
    let api = seeded().await;
    let (day_ms, live) = (86_400_000, &api.live);
    let total = async || live.picture(uid(8)).await.unwrap().total.get();
    assert_eq!(total().await, 6);
    for _ in 0..3 {
        api.clock.sleep_ms(20 * day_ms).await;
        assert_eq!(total().await, 6);
    }
    assert_eq!(rebuilds(&api), 1);
    api.clock.sleep_ms(31 * day_ms).await;
    assert_eq!(total().await, 6);
    assert_eq!(rebuilds(&api), 2);
}
