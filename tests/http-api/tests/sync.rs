//! What follows a token.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use readmark_domain::hot::TallyChange;
use readmark_domain::id::Endpoint;
use readmark_domain::register::ReceiptsMode;
use readmark_domain::time::TimeMs;
use readmark_hot::{HotState, TallyTold, UserChange};
use readmark_store::Raise;
use readmark_test_http_api::{Api, Token, conversation, seq, uid};
use serde_json::{Value, json};
use std::sync::Arc;

async fn seeded() -> Api {
    let api = Api::default();
    api.seed.joins("c1", &[7, 8], 0).await;
    api.seed.sends("c1", 7, 1..=2).await;
    api
}

async fn sync(api: &Api, token: Token, query: &str) -> Value {
    let answer = api.get(token, &format!("/v1/sync{query}")).await;
    assert_eq!(answer.status, 200, "{query}: {}", answer.text);
    answer.json()
}

/// Without a token: a snapshot, and its token.
async fn start(api: &Api) -> String {
    let answer = sync(api, Token::User(8), "").await;
    assert_eq!(answer["snapshot"]["token"], answer["token"]);
    answer["token"].as_str().unwrap().to_owned()
}

fn versions(answer: &Value) -> Vec<&str> {
    answer["entries"].as_array().unwrap().iter().map(|entry| entry["version"].as_str().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn without_a_token_a_snapshot_is_all_of_the_picture() {
    let api = seeded().await;
    api.seed.joins("empty", &[8], 0).await;
    let answer = sync(&api, Token::User(8), "").await;
    assert!(answer.get("entries").is_none() && answer.get("more").is_none(), "{answer}");
    let all = api.get(Token::User(8), "/v1/unread?all=true").await.json();
    assert_eq!(answer["snapshot"], all);
    assert_eq!(all["conversations"].as_array().unwrap().len(), 2, "what has nothing unread, too");
    let nobody = sync(&api, Token::User(99), "").await;
    assert_eq!(nobody["snapshot"]["total"], "0");
}

#[tokio::test(start_paused = true)]
async fn entries_follow_the_token_in_pages() {
    let api = seeded().await;
    let token = start(&api).await;
    let nothing = sync(&api, Token::User(8), &format!("?since={token}")).await;
    assert_eq!(nothing, json!({"entries": [], "token": token, "more": false}));
    for n in 3..=7 {
        api.seed.sends("c1", 7, [n]).await;
        api.tell(8).await;
    }
    let first = sync(&api, Token::User(8), &format!("?since={token}&limit=2")).await;
    assert_eq!((versions(&first), &first["more"]), (vec!["1", "2"], &json!(true)));
    assert_eq!(
        first["entries"][1],
        json!({"version": "2", "kind": "unread_changed", "conversation_id": "c1", "head_seq": "4", "floor_seq": "0",
               "unread": "4", "mentions": "0", "marked_unread": false, "muted": false, "total_unread": "4",
               "total_mentions": "0"})
    );
    let next = first["token"].as_str().unwrap();
    let rest = sync(&api, Token::User(8), &format!("?since={next}")).await;
    assert_eq!((versions(&rest), &rest["more"]), (vec!["3", "4", "5"], &json!(false)));
    let unread = api.get(Token::User(8), "/v1/unread").await.json();
    assert_eq!(unread["token"], rest["token"], "an answer's token says how far it is");
    let again = sync(&api, Token::User(8), &format!("?since={next}")).await;
    assert_eq!(again, rest, "asking changes nothing");
}

#[tokio::test(start_paused = true)]
async fn a_device_knows_its_own_marks() {
    let api = seeded().await;
    let token = start(&api).await;
    for (n, endpoint) in [(1, Some("phone")), (2, Some("desk"))] {
        let endpoint = endpoint.map(|text| Endpoint::new(text).unwrap());
        let raise = Raise::Read { seq: seq(n), read_at: TimeMs::ZERO, endpoint: endpoint.clone() };
        api.seed.0.raise(uid(8), &conversation("c1"), &[raise]).await.unwrap();
        let mut change =
            readmark_sync::whole_change(&*api.seed.0, uid(8), &conversation("c1")).await.unwrap();
        change.cause = readmark_domain::hot::Cause::Read(endpoint);
        let told = UserChange { uid: uid(8), conversation_id: conversation("c1"), change: Arc::new(change) };
        api.hot.apply(&[told]).await.remove(0).unwrap();
    }
    let path = format!("?since={token}");
    let seen = |answer: &Value| -> Vec<(String, bool)> {
        let entries = answer["entries"].as_array().unwrap().iter();
        entries.map(|e| (e["endpoint"].as_str().unwrap().to_owned(), e["own"] == true)).collect()
    };
    let phone = sync(&api, Token::User(8), &path).await;
    assert_eq!(seen(&phone), [("phone".to_owned(), true), ("desk".to_owned(), false)]);
    let backend = sync(&api, Token::Service, &format!("{path}&uid=8")).await;
    assert_eq!(seen(&backend), [("phone".to_owned(), false), ("desk".to_owned(), false)]);
}

#[tokio::test(start_paused = true)]
async fn senders_get_their_tallies() {
    let api = seeded().await;
    let answer = sync(&api, Token::User(7), "").await;
    let change = TallyChange {
        conversation_id: conversation("c1"),
        seq: seq(2),
        mode: ReceiptsMode::Full,
        read: 1,
        total: 1,
        readers_added: vec![uid(8)],
        version: "1".repeat(32).parse().unwrap(),
    };
    api.hot.apply_tallies(&[TallyTold { uid: uid(7), change }]).await.remove(0).unwrap();
    let next = sync(&api, Token::User(7), &format!("?since={}", answer["token"].as_str().unwrap())).await;
    let entry = &next["entries"][0];
    assert_eq!(
        (&entry["kind"], &entry["read"], &entry["total"]),
        (&json!("message_read"), &json!("1"), &json!("1"))
    );
    assert_eq!(entry["readers_added"], json!(["8"]));
}

/// Too old, of another epoch, of before a flush, from the store, of the future: never an empty list.
#[tokio::test(start_paused = true)]
async fn a_token_that_can_not_be_followed_gets_a_snapshot() {
    let api = seeded().await;
    let token = start(&api).await;
    let epoch = token.split_once('.').unwrap().0.to_owned();
    for since in ["store.0", "0.0", "abc.7", &format!("{epoch}.99")] {
        let answer = sync(&api, Token::User(8), &format!("?since={since}")).await;
        assert_eq!(answer["snapshot"]["total"], "2", "{since}: {answer}");
        assert_eq!(answer["token"], *token, "{since}");
    }
    for n in 3..=1_100 {
        api.seed.sends("c1", 7, [n]).await;
        api.tell(8).await;
    }
    let old = sync(&api, Token::User(8), &format!("?since={token}")).await;
    assert_eq!(old["snapshot"]["total"], "1100");
    api.hot.inner().flush();
    let since = old["token"].as_str().unwrap();
    let flushed = sync(&api, Token::User(8), &format!("?since={since}")).await;
    assert_eq!(flushed["snapshot"]["total"], "1100");
    assert_ne!(flushed["token"].as_str().unwrap().split_once('.').unwrap().0, epoch, "another epoch");
}

#[tokio::test(start_paused = true)]
async fn what_can_not_be_asked_is_refused() {
    let api = seeded().await;
    for query in [
        "?since=",
        "?since=nonsense",
        "?since=a.01",
        "?since=A.1",
        "?since=a.-1",
        "?limit=0",
        "?limit=1001",
        "?limit=many",
        "?limit=-1",
        "?uid=x",
    ] {
        let answer = api.get(Token::User(8), &format!("/v1/sync{query}")).await;
        assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (422, "malformed"), "{query}");
    }
    for (token, query, status, word) in [
        (Token::Service, "", 422, "malformed"),
        (Token::User(8), "?uid=9", 403, "forbidden"),
        (Token::Admin, "?uid=8", 403, "forbidden"),
        (Token::None, "", 401, "unauthenticated"),
    ] {
        let answer = api.get(token, &format!("/v1/sync{query}")).await;
        assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (status, word), "{query}");
    }
    assert_eq!(sync(&api, Token::User(8), "?uid=8").await["snapshot"]["total"], "2");
    assert_eq!(sync(&api, Token::Service, "?uid=8&limit=1000").await["snapshot"]["total"], "2");
}
