//! The hot state is away, or the store is: what is answered then.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use futures::future::join_all;
use readmark_http::HttpSettings;
use readmark_query::QuerySettings;
use readmark_runtime::ports::Rules;
use readmark_sync::LiveSettings;
use readmark_test_http_api::{Api, Token};
use serde_json::Value;

async fn seeded() -> Api {
    let api = Api::default();
    api.seed.joins("c1", &[7, 8], 0).await;
    api.seed.sends("c1", 7, 1..=2).await;
    api
}

async fn get(api: &Api, path: &str) -> (u16, Value) {
    let answer = api.get(Token::User(8), path).await;
    if answer.status == 503 {
        answer.problem();
    }
    (answer.status.as_u16(), answer.json())
}

/// E12: errors and emptiness, in turns, during a thousand reads: 2 or 503, never 0.
#[tokio::test(start_paused = true)]
async fn two_or_503_but_never_zero() {
    let api = seeded().await;
    for n in 0..1_000_u64 {
        api.hot.set_away(n % 7 == 3);
        api.store.set_away(n % 11 == 5);
        if n % 5 == 0 {
            api.hot.inner().flush();
        }
        match get(&api, "/v1/unread").await {
            (200, body) => assert_eq!(body["total"], "2", "read {n}: {body}"),
            (503, _) => assert_eq!(n % 11, 5, "read {n}"),
            other => panic!("read {n}: {other:?}"),
        }
    }
}

/// L1: answers come from the store meanwhile, and devices begin anew when it is back, without a restart.
#[tokio::test(start_paused = true)]
async fn the_store_answers_meanwhile() {
    let api = seeded().await;
    let (_, before) = get(&api, "/v1/unread").await;
    let token = before["token"].as_str().unwrap().to_owned();
    api.hot.set_away(true);
    api.seed.sends("c1", 7, [3]).await;
    let (status, meanwhile) = get(&api, "/v1/unread").await;
    assert_eq!((status, &meanwhile["total"], &meanwhile["token"]), (200, &"3".into(), &"store.0".into()));
    let (status, synced) = get(&api, &format!("/v1/sync?since={token}")).await;
    assert_eq!(
        (status, &synced["snapshot"]["total"], &synced["token"]),
        (200, &"3".into(), &"store.0".into())
    );
    assert_eq!(
        synced["snapshot"]["conversations"],
        get(&api, "/v1/unread?all=true").await.1["conversations"]
    );
    api.hot.set_away(false);
    api.tell(8).await;
    let (_, back) = get(&api, "/v1/sync?since=store.0").await;
    assert_eq!(back["snapshot"]["total"], "3", "following it begins with a snapshot");
    assert_eq!(back["token"].as_str().unwrap(), format!("{}.1", token.split_once('.').unwrap().0));
    let (_, followed) = get(&api, &format!("/v1/sync?since={token}")).await;
    assert_eq!(followed["entries"].as_array().unwrap().len(), 1, "who kept the old token misses nothing");
}

/// RR-3: a hot state that comes back and is still behind does not take back what the store said meanwhile.
#[tokio::test(start_paused = true)]
async fn what_the_store_said_is_not_taken_back() {
    let api = seeded().await;
    let (_, before) = get(&api, "/v1/unread").await;
    let kept = before["token"].as_str().unwrap();
    for (n, path) in [(3, "/v1/unread?all=true"), (4, "/v1/sync?since=store.0"), (5, "/v1/sync")] {
        api.hot.set_away(true);
        api.seed.sends("c1", 7, [n]).await;
        api.seed.marks("c1", 8, n - 1).await;
        let seen = |answer: &Value| {
            let row = &answer.get("snapshot").unwrap_or(answer)["conversations"][0];
            (row["head_seq"].clone(), row["read_seq"].clone(), row["unread"].clone())
        };
        let meanwhile = get(&api, "/v1/sync").await.1;
        assert_eq!(seen(&meanwhile), (n.to_string().into(), (n - 1).to_string().into(), "1".into()));
        // Nobody has told it yet.
        api.hot.set_away(false);
        let back = get(&api, path).await.1;
        assert_eq!(seen(&back), seen(&meanwhile), "{path}");
        assert_ne!(back["token"], "store.0", "the hot state has answered");
    }
    let (_, followed) = get(&api, &format!("/v1/sync?since={kept}")).await;
    assert!(
        !followed["entries"].as_array().unwrap().is_empty(),
        "devices with a token of before are told: {followed}"
    );
}

/// Both are away: an error, with every call and at every step.
#[tokio::test(start_paused = true)]
async fn without_both_there_is_no_answer() {
    let api = seeded().await;
    for calls in 0..8 {
        api.hot.away_after(calls);
        api.store.set_away(true);
        for path in ["/v1/unread", "/v1/unread?all=true", "/v1/sync", "/v1/sync?since=a.1"] {
            assert_eq!(get(&api, path).await.0, 503, "{path} after {calls} calls of the hot state");
        }
        api.hot.away_after(u64::MAX);
        api.store.set_away(false);
        assert_eq!(get(&api, "/v1/unread").await.1["total"], "2");
        api.hot.inner().flush();
    }
}

/// The hot state goes away at any step: the answer is right all the same.
#[tokio::test(start_paused = true)]
async fn it_may_go_away_at_any_step() {
    for calls in 0..8 {
        for path in ["/v1/unread?all=true", "/v1/sync", "/v1/sync?since=a.1"] {
            let api = seeded().await;
            api.hot.away_after(calls);
            let (status, body) = get(&api, path).await;
            let snapshot = body.get("snapshot").unwrap_or(&body);
            assert_eq!(
                (status, &snapshot["total"]),
                (200, &"2".into()),
                "{path} after {calls} calls: {body}"
            );
        }
    }
}

/// A state that is there is read without the store, so that a store that is away harms nobody who is known.
#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_harms_nobody_who_is_known() {
    let api = seeded().await;
    let (_, before) = get(&api, "/v1/unread").await;
    let calls = api.store.calls();
    api.store.set_away(true);
    assert_eq!(get(&api, "/v1/unread").await, (200, before.clone()));
    let since = before["token"].as_str().unwrap();
    assert_eq!(get(&api, &format!("/v1/sync?since={since}")).await.0, 200);
    assert_eq!(api.store.calls(), calls);
}

/// What is computed from the store has a bound: more than that wait a second, then are refused.
#[tokio::test(start_paused = true)]
async fn only_so_many_are_computed_at_once() {
    let settings = LiveSettings { derived_at_once: 2, ..LiveSettings::default() };
    let api = Api::with_live(Rules::default(), HttpSettings::default(), QuerySettings::default(), &settings);
    api.seed.joins("c1", &[8], 0).await;
    api.seed.sends("c1", 7, 1..=2).await;
    api.hot.set_away(true);
    api.store.set_slow_ms(300);
    let answers = join_all((0..20).map(|_| get(&api, "/v1/unread"))).await;
    let (good, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(status, _)| *status == 200);
    assert!(good.iter().all(|(_, body)| body["total"] == "2"));
    assert!(
        refused
            .iter()
            .all(|(status, body)| { *status == 503 && body["type"] == "urn:readmark:problem:overloaded" })
    );
    assert!(good.len() >= 2 && refused.len() >= 10, "{} and {}", good.len(), refused.len());
}
