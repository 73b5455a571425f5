//! Bad input is refused whole, by name, and leaves nothing in the log.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use axum::body::Body;
use axum::http::Method;
use readmark_domain::register::ReceiptsMode;
use readmark_domain::time::OrderSource;
use readmark_http::HttpSettings;
use readmark_query::QuerySettings;
use readmark_runtime::ports::Rules;
use readmark_test_http_api::{Answer, Api, NOW_MS, Token};
use serde_json::{Value, json};

async fn api() -> Api {
    let api = Api::default();
    api.seed.joins("c1", &[7, 8], 0).await;
    api.seed.sends("c1", 7, 1..=3).await;
    api
}

async fn raw(api: &Api, token: Token, method: Method, path: &str, body: impl Into<Body>) -> Answer {
    api.call(token, method, path, body).await
}

fn refused_as_malformed(what: &str, answer: &Answer) {
    assert_eq!(answer.status, 422, "{what}: {}", answer.text);
    assert_eq!(answer.problem(), "malformed", "{what}");
}

/// Every call with a body, with a body that it takes.
fn calls() -> Vec<(Token, Method, &'static str, Value)> {
    vec![
        (
            Token::Service,
            Method::POST,
            "/v1/events",
            json!({"events": [{"type": "message_recalled", "conversation_id": "c1", "seq": "1", "occurred_at": "1"}]}),
        ),
        (
            Token::User(8),
            Method::POST,
            "/v1/acks",
            json!({"conversation_id": "c1", "messages": [{"seq": "1"}]}),
        ),
        (Token::User(8), Method::POST, "/v1/conversations/c1/read", json!({"up_to_seq": "1"})),
        (Token::User(8), Method::POST, "/v1/conversations/c1/clear", json!({"up_to_seq": "1"})),
        (Token::User(8), Method::PUT, "/v1/settings", json!({"receipts": false})),
        (
            Token::User(8),
            Method::POST,
            "/v1/receipts/query",
            json!({"messages": [{"conversation_id": "c1", "seq": "1"}]}),
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn no_call_takes_what_is_no_json_object() {
    let api = api().await;
    for (token, method, path, good) in calls() {
        let good = good.to_string();
        let answer = raw(&api, token, method.clone(), path, good.clone()).await;
        assert!(answer.status.is_success(), "{path} takes {good}: {}", answer.text);
        let before = api.log.records().len();
        let doubled = format!("{{\"x\":1,\"x\":2,{}", &good[1..]);
        let nested = format!("{{\"x\":{{\"y\":1,\"y\":1}},{}", &good[1..]);
        let first = good.split_once(':').unwrap().0.trim_start_matches('{');
        let twice = format!("{{{first}:null,{}", &good[1..]);
        for (what, body) in [
            ("malformed", "{".to_owned()),
            ("truncated", good[..good.len() - 1].to_owned()),
            ("followed by more", format!("{good} x")),
            ("an array", "[]".to_owned()),
            ("the fields as an array", "[\"c1\",[]]".to_owned()),
            ("a text", "\"c1\"".to_owned()),
            ("null", "null".to_owned()),
            ("a duplicate unknown key", doubled),
            ("a duplicate key further down", nested),
            ("a duplicate key", twice),
            ("too deep", format!("{{\"x\":{}", "[".repeat(200_000))),
        ] {
            refused_as_malformed(
                &format!("{path}: {what}"),
                &raw(&api, token, method.clone(), path, body).await,
            );
        }
        let mut invalid = b"{\"x\":\"".to_vec();
        invalid.extend([0xff, 0xfe, b'"', b'}']);
        refused_as_malformed("no UTF-8", &raw(&api, token, method.clone(), path, invalid).await);
        let big = format!("{{\"x\":\"{}\"}}", "a".repeat(1024 * 1024));
        let answer = raw(&api, token, method.clone(), path, big).await;
        assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (413, "too-large"), "{path}");
        assert_eq!(api.log.records().len(), before, "{path}: nothing of it is in the log");
    }
}

fn sent(changes: &Value) -> Value {
    let mut event = json!({
        "type": "message_sent", "conversation_id": "c1", "seq": "9", "msg_id": "909", "sender_uid": "7",
        "occurred_at": NOW_MS.to_string()
    });
    for (name, value) in changes.as_object().unwrap() {
        event[name] = value.clone();
    }
    event
}

/// What is wrong, the event, and the field that the fault names.
type BadEvent = (&'static str, Value, Option<&'static str>);

fn bad_messages() -> Vec<BadEvent> {
    let long = "c".repeat(65);
    vec![
        ("seq 0", sent(&json!({"seq": "0"})), Some("seq")),
        ("seq beyond 10^15", sent(&json!({"seq": "1000000000000001"})), Some("seq")),
        ("seq beyond 10^15 as a number", sent(&json!({"seq": 1_000_000_000_000_001_u64})), Some("seq")),
        ("negative seq", sent(&json!({"seq": -1})), Some("seq")),
        ("negative seq as a text", sent(&json!({"seq": "-1"})), Some("seq")),
        ("seq with a fraction", sent(&json!({"seq": 1.5})), Some("seq")),
        ("seq with a leading zero", sent(&json!({"seq": "01"})), Some("seq")),
        ("seq with a blank", sent(&json!({"seq": " 1"})), Some("seq")),
        ("huge seq", sent(&json!({"seq": "9".repeat(400)})), Some("seq")),
        ("seq of a wrong type", sent(&json!({"seq": true})), Some("seq")),
        ("seq null", sent(&json!({"seq": null})), Some("seq")),
        ("msg_id beyond 64 bits", sent(&json!({"msg_id": "9223372036854775808"})), Some("msg_id")),
        ("negative sender", sent(&json!({"sender_uid": -7})), Some("sender_uid")),
        ("empty conversation", sent(&json!({"conversation_id": ""})), Some("conversation_id")),
        ("conversation of 65 bytes", sent(&json!({"conversation_id": long})), Some("conversation_id")),
        (
            "conversation of 33 letters of 2 bytes",
            sent(&json!({"conversation_id": "é".repeat(33)})),
            Some("conversation_id"),
        ),
        (
            "conversation with a control character",
            sent(&json!({"conversation_id": "c\u{0}1"})),
            Some("conversation_id"),
        ),
        ("conversation of a wrong type", sent(&json!({"conversation_id": 1})), Some("conversation_id")),
        ("countable of a wrong type", sent(&json!({"countable": "yes"})), Some("countable")),
        ("mentions of a wrong type", sent(&json!({"mentions": "8"})), Some("mentions")),
        ("a mention that is no uid", sent(&json!({"mentions": ["8", "x"]})), Some("mentions[1]")),
        ("201 mentions", sent(&json!({"mentions": (0..201).collect::<Vec<u64>>()})), Some("mentions")),
        (
            "occurred_at in the future",
            sent(&json!({"occurred_at": (NOW_MS + 60_001).to_string()})),
            Some("occurred_at"),
        ),
        ("huge occurred_at", sent(&json!({"occurred_at": "9223372036854775807"})), Some("occurred_at")),
        ("negative occurred_at", sent(&json!({"occurred_at": -1})), Some("occurred_at")),
    ]
}

fn bad_kinds() -> Vec<BadEvent> {
    vec![
        ("no type", json!({"conversation_id": "c1"}), None),
        ("unknown type", json!({"type": "message_lost"}), Some("type")),
        (
            "an import, which is no call",
            json!({"type": "head_imported", "conversation_id": "c1", "head_seq": "5", "occurred_at": "1"}),
            Some("type"),
        ),
        ("type of a wrong type", json!({"type": 5}), Some("type")),
        ("no object", json!(["message_sent"]), None),
        ("null", Value::Null, None),
    ]
}

fn bad_other_events() -> Vec<BadEvent> {
    let joined = |changes: Value| {
        let mut event = json!({"type": "member_joined", "conversation_id": "c1", "uid": "9", "at_seq": "0", "occurred_at": "1"});
        event.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        event
    };
    let acked = |messages: Value| json!({"type": "acked", "uid": "8", "conversation_id": "c1", "occurred_at": "1", "messages": messages});
    let many =
        |n: u64| Value::from((1..=n).map(|n| json!({"seq": n, "sender_uid": "7"})).collect::<Vec<_>>());
    vec![
        (
            "a skip the wrong way round",
            json!({"type": "seq_skipped", "conversation_id": "c1", "from": "6", "to": "4", "occurred_at": "1"}),
            None,
        ),
        (
            "a skip too wide",
            json!({"type": "seq_skipped", "conversation_id": "c1", "from": "1", "to": "65537", "occurred_at": "1"}),
            None,
        ),
        ("negative at_seq", joined(json!({"at_seq": -1})), Some("at_seq")),
        ("a join in the future", joined(json!({"occurred_at": NOW_MS + 3_600_000})), Some("occurred_at")),
        ("a version where times are the order", joined(json!({"version": "5"})), Some("version")),
        (
            "closed of a wrong type",
            json!({"type": "conversation_closed", "conversation_id": "c1", "closed": 1, "occurred_at": "1"}),
            Some("closed"),
        ),
        (
            "no order at all",
            json!({"type": "conversation_closed", "conversation_id": "c1", "closed": true}),
            Some("occurred_at"),
        ),
        (
            "an unknown policy",
            json!({"type": "conversation_policy", "conversation_id": "c1", "receipts": "some", "occurred_at": "1"}),
            Some("receipts"),
        ),
        (
            "settings without a user",
            json!({"type": "user_settings", "receipts": true, "occurred_at": "1"}),
            None,
        ),
        ("acked without messages", acked(json!([])), Some("messages")),
        ("acked with 1,001 messages", acked(many(1_001)), Some("messages")),
        ("acked without a sender", acked(json!([{"seq": "1"}])), Some("messages[0]")),
        (
            "read up to 0",
            json!({"type": "read", "uid": "8", "conversation_id": "c1", "up_to_seq": "0", "occurred_at": "1"}),
            Some("up_to_seq"),
        ),
        (
            "an endpoint of 65 bytes",
            json!({"type": "read", "uid": "8", "endpoint": "e".repeat(65), "conversation_id": "c1", "up_to_seq": "1", "occurred_at": "1"}),
            Some("endpoint"),
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn each_bad_event_is_named_by_its_index() {
    let api = api().await;
    for (what, bad, field) in [bad_kinds(), bad_messages(), bad_other_events()].concat() {
        let body = json!({"events": [sent(&json!({})), bad, sent(&json!({"seq": "10", "msg_id": "910"}))]});
        let answer = api.post(Token::Service, "/v1/events", &body).await;
        refused_as_malformed(what, &answer);
        let items = answer.json()["items"].clone();
        assert_eq!(items.as_array().unwrap().len(), 1, "{what}: {items}");
        assert_eq!(items[0]["index"], 1, "{what}: {items}");
        assert_eq!(items[0]["field"].as_str(), field, "{what}: {items}");
        assert!(!items[0]["detail"].as_str().unwrap().contains("at line"), "{what}: {items}");
    }
    assert!(api.log.records().is_empty(), "the whole request is refused each time");
}

#[tokio::test(start_paused = true)]
async fn every_fault_is_named_at_once_within_bounds() {
    let api = api().await;
    let body = json!({"events": [sent(&json!({"seq": "0"})), sent(&json!({})), {"type": "?"}]});
    let items = api.post(Token::Service, "/v1/events", &body).await.json()["items"].clone();
    let indexes: Vec<u64> =
        items.as_array().unwrap().iter().map(|item| item["index"].as_u64().unwrap()).collect();
    assert_eq!(indexes, [0, 2]);
    let body = json!({"events": vec![json!({"type": "?"}); 1_000]});
    let items = api.post(Token::Service, "/v1/events", &body).await.json()["items"].clone();
    assert_eq!(items.as_array().unwrap().len(), 100);
}

#[tokio::test(start_paused = true)]
async fn lists_have_bounds() {
    let api = api().await;
    let acks = |n: u64| json!({"conversation_id": "c1", "messages": (1..=n).map(|n| json!({"seq": n})).collect::<Vec<_>>()});
    let query = |n: u64| json!({"messages": (1..=n).map(|n| json!({"conversation_id": "c1", "seq": n})).collect::<Vec<_>>()});
    let events = |n: u64| json!({"events": (1..=n).map(|n| sent(&json!({"seq": n}))).collect::<Vec<_>>()});
    for (what, answer) in [
        ("no events", api.post(Token::Service, "/v1/events", &events(0)).await),
        ("1,001 events", api.post(Token::Service, "/v1/events", &events(1_001)).await),
        ("no acks", api.post(Token::User(8), "/v1/acks", &acks(0)).await),
        ("1,001 acks", api.post(Token::User(8), "/v1/acks", &acks(1_001)).await),
        ("no messages in a query", api.post(Token::User(8), "/v1/receipts/query", &query(0)).await),
        ("201 messages in a query", api.post(Token::User(8), "/v1/receipts/query", &query(201)).await),
        ("no list", api.post(Token::User(8), "/v1/acks", &json!({"conversation_id": "c1"})).await),
    ] {
        refused_as_malformed(what, &answer);
    }
    assert!(api.log.records().is_empty());
    let answer = api.post(Token::Service, "/v1/events", &events(1_000)).await;
    assert_eq!((answer.status.as_u16(), answer.json()["accepted"].as_u64()), (202, Some(1_000)));
    assert_eq!(api.post(Token::User(8), "/v1/receipts/query", &query(200)).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn paths_and_queries_are_checked() {
    let api = api().await;
    let long = "c".repeat(65);
    for path in [
        "/v1/conversations/c1/messages/0/receipt".to_owned(),
        "/v1/conversations/c1/messages/1000000000000001/receipt".to_owned(),
        "/v1/conversations/c1/messages/-1/receipt".to_owned(),
        "/v1/conversations/c1/messages/x/readers".to_owned(),
        format!("/v1/conversations/{long}/messages/1/receipt"),
        "/v1/conversations/%FF/messages/1/receipt".to_owned(),
        "/v1/conversations/c%00/messages/1/receipt".to_owned(),
        "/v1/conversations/c1/messages/1/readers?limit=0".to_owned(),
        "/v1/conversations/c1/messages/1/readers?limit=1001".to_owned(),
        "/v1/conversations/c1/messages/1/readers?limit=-1".to_owned(),
        "/v1/conversations/c1/messages/1/readers?limit=1&limit=2".to_owned(),
        "/v1/conversations/c1/messages/1/unread-members?cursor=x".to_owned(),
        "/v1/unread?all=perhaps".to_owned(),
        "/v1/unread?uid=x".to_owned(),
    ] {
        refused_as_malformed(&path, &api.get(Token::User(7), &path).await);
    }
    let read = json!({"up_to_seq": "1"});
    let answer = api.post(Token::User(8), "/v1/conversations/c1/read?wait=forever", &read).await;
    refused_as_malformed("wait=forever", &answer);
    for (path, slug, status) in
        [("/v1/nothing", "no-such-route", 404), ("/v1/acks", "method-not-allowed", 405)]
    {
        let answer = api.get(Token::User(8), path).await;
        assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (status, slug), "{path}");
    }
    let spelled = api.get(Token::User(7), "/v1/conversations/%631/messages/1/receipt").await;
    assert_eq!(spelled.status, 200, "an escaped id is the same id: {}", spelled.text);
}

#[tokio::test(start_paused = true)]
async fn where_versions_are_the_order_they_are_needed() {
    let rules = Rules { order_source: OrderSource::Version, ..Rules::default() };
    let api = Api::new(rules, HttpSettings::default(), QuerySettings::default());
    let policy = |order: Value| {
        let mut event = json!({"type": "conversation_policy", "conversation_id": "c1", "receipts": "count"});
        event.as_object_mut().unwrap().extend(order.as_object().unwrap().clone());
        json!({"events": [event]})
    };
    let answer = api.post(Token::Service, "/v1/events", &policy(json!({"occurred_at": "1"}))).await;
    refused_as_malformed("a time alone", &answer);
    assert_eq!(answer.json()["items"][0]["field"], "version");
    let beyond = api.post(Token::Service, "/v1/events", &policy(json!({"version": "500000000000001"}))).await;
    refused_as_malformed("a version beyond 5 × 10^14", &beyond);
    let answer = api.post(Token::Service, "/v1/events", &policy(json!({"version": "3"}))).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    let facts: Vec<readmark_domain::fact::ConversationFact> = api.log.facts();
    let readmark_domain::fact::ConversationFact::ConversationPolicy(policy) = &facts[0] else {
        panic!("a policy: {facts:?}")
    };
    assert_eq!(policy.receipts, ReceiptsMode::Count);
    assert_eq!(policy.version.unwrap().get(), 3);
    assert_eq!(policy.occurred_at.unwrap().get(), NOW_MS, "the gateway's clock says since when");
}

#[tokio::test(start_paused = true)]
async fn calls_are_for_their_scope() {
    let api = api().await;
    let events = json!({"events": [sent(&json!({}))]});
    let acks = json!({"conversation_id": "c1", "messages": [{"seq": "1"}]});
    let receipt = "/v1/conversations/c1/messages/1/receipt";
    for (token, status, slug) in [
        (Token::None, 401, "unauthenticated"),
        (Token::User(8), 403, "forbidden"),
        (Token::Admin, 403, "forbidden"),
    ] {
        let answer = api.post(token, "/v1/events", &events).await;
        assert_eq!(
            (answer.status.as_u16(), answer.problem().as_str()),
            (status, slug),
            "events by {token:?}"
        );
    }
    for (token, status) in [(Token::None, 401), (Token::Service, 403), (Token::Admin, 403)] {
        let answer = api.post(token, "/v1/acks", &acks).await;
        assert_eq!(answer.status.as_u16(), status, "acks by {token:?}");
        let answer = api.put(token, "/v1/settings", &json!({"receipts": true})).await;
        assert_eq!(answer.status.as_u16(), status, "settings by {token:?}");
    }
    for (token, status) in
        [(Token::None, 401), (Token::Admin, 403), (Token::User(7), 200), (Token::Service, 200)]
    {
        assert_eq!(api.get(token, receipt).await.status.as_u16(), status, "receipt by {token:?}");
    }
    assert!(api.log.records().is_empty());
    assert_eq!(api.get(Token::None, receipt).await.headers["www-authenticate"], "Bearer");
    assert_eq!(api.get(Token::User(8), "/v1/unread?uid=7").await.problem(), "forbidden");
    assert_eq!(api.get(Token::User(8), "/v1/unread?uid=8").await.status, 200);
    refused_as_malformed("whose unread?", &api.get(Token::Service, "/v1/unread").await);
}

/// What a client must mend is named, wherever it stands.
#[tokio::test(start_paused = true)]
async fn every_fault_outside_of_a_list_is_named_too() {
    let api = api().await;
    let message = "/v1/conversations/c1/messages/1";
    for (token, path, field) in [
        (
            Token::User(7),
            format!("/v1/conversations/{}/messages/1/receipt", "c".repeat(65)),
            "conversation_id",
        ),
        (Token::User(7), "/v1/conversations/c1/messages/x/receipt".to_owned(), "seq"),
        (Token::User(7), "/v1/conversations/c1/messages/0/receipt".to_owned(), "seq"),
        (Token::User(7), format!("{message}/readers?limit=0"), "limit"),
        (Token::User(7), format!("{message}/readers?limit=many"), "limit"),
        (Token::User(7), format!("{message}/readers?cursor=x"), "cursor"),
        (Token::User(7), "/v1/sync?since=x".to_owned(), "since"),
        (Token::User(7), "/v1/sync?limit=1001".to_owned(), "limit"),
        (Token::Service, "/v1/unread".to_owned(), "uid"),
        (Token::Service, "/v1/unread?uid=x".to_owned(), "uid"),
        (Token::User(7), "/v1/unread?all=x".to_owned(), "all"),
    ] {
        let answer = api.get(token, &path).await;
        refused_as_malformed(&path, &answer);
        assert_eq!(answer.json()["items"][0]["field"], field, "{path}: {}", answer.text);
    }
    for (token, path, body, field) in [
        (Token::Service, "/v1/events", json!({"events": []}), "events"),
        (Token::User(8), "/v1/acks", json!({"conversation_id": "c1", "messages": []}), "messages"),
        (Token::User(8), "/v1/receipts/query", json!({"messages": vec![json!({}); 201]}), "messages"),
    ] {
        let answer = api.post(token, path, &body).await;
        refused_as_malformed(path, &answer);
        assert_eq!(answer.json()["items"][0]["field"], field, "{path}: {}", answer.text);
    }
}
