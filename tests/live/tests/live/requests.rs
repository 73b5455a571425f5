//! Acks, marks and pings over a connection, and their answers.

use crate::common::{connected, device, group, phone};
use readmark_test_harness::{DEADLINE, Options, Server, now_ms, wait_until};
use readmark_test_live::{joined, sent};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn ack(id: &Value, conversation: &str, seqs: &[&str]) -> Value {
    let messages: Vec<Value> = seqs.iter().map(|seq| json!({"seq": seq})).collect();
    json!({"type": "ack", "id": id, "conversation_id": conversation, "messages": messages})
}

fn read(id: &Value, conversation: &str, seq: &str) -> Value {
    json!({"type": "read", "id": id, "conversation_id": conversation, "up_to_seq": seq})
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_is_answered_under_its_id() {
    let server = Server::fresh().await;
    group(&server).await;
    sent(&server, "c", 8, [3]).await;
    let (mut wire, _) = connected(&server, 8, "phone").await;

    let answer = wire.ask(&ack(&json!("a1"), "c", &["1", "3"])).await;
    let ignored = json!([{"seq": "3", "reason": "own_message"}]);
    assert_eq!(answer, json!({"type": "ok", "id": "a1", "accepted": 1, "ignored": ignored}));
    let answer = wire.ask(&read(&json!(7), "c", "2")).await;
    assert_eq!(answer, json!({"type": "ok", "id": 7, "read_seq": "2"}));
    let without = json!({"type": "read", "conversation_id": "c", "up_to_seq": "2"});
    let answer = wire.ask(&without).await;
    assert_eq!(answer, json!({"type": "ok", "id": null, "read_seq": "2"}), "without an id, under none");
    wire.say(&json!({"type": "ping"})).await;
    assert_eq!(wire.frame_of("pong").await, json!({"type": "pong"}));

    // Accepted means durable: the sender sees it.
    wait_until(DEADLINE, "the receipts", || async {
        let path = "/v1/conversations/c/messages/2/readers";
        let answer = server.as_user(7, "phone").try_send("GET", path, &Value::Null).await?.json();
        if answer["uids"] == json!(["8"]) { Ok(()) } else { Err(answer.to_string()) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_is_said_as_by_http() {
    let server = Server::fresh().await;
    group(&server).await;
    joined(&server, "closed", &[8]).await;
    let closed = json!({"type": "conversation_closed", "conversation_id": "closed", "closed": true, "occurred_at": now_ms().to_string()});
    sent(&server, "closed", 7, [1]).await;
    server.as_service().events(&[closed]).await;
    wait_until(DEADLINE, "the closing", || async {
        let answer =
            server.as_service().try_send("GET", "/v1/unread?all=true&uid=8", &Value::Null).await?.json();
        let rows = answer["conversations"].as_array().map(Vec::as_slice).unwrap_or_default();
        if rows.iter().any(|row| row["conversation_id"] == "closed") {
            Err(answer.to_string())
        } else {
            Ok(())
        }
    })
    .await;

    let mut wire = phone(&server, 8).await;
    let early = wire.ask(&read(&json!("early"), "c", "1")).await;
    assert_eq!(
        (&early["status"], &early["problem"]),
        (&json!(422), &json!("malformed")),
        "before hello: {early}"
    );
    wire.say(&json!({"type": "ping"})).await;
    assert_eq!(wire.frame().await, json!({"type": "pong"}), "a ping needs no hello");
    wire.hello(None).await;
    assert_eq!(wire.frame().await["type"], "snapshot");

    let wrong_sender = json!({"type": "ack", "id": "x", "conversation_id": "c", "messages": [{"seq": "1", "sender_uid": "9"}]});
    let cases = [
        (ack(&json!("x"), "c", &["9"]), 409, "seq-beyond-head"),
        (read(&json!("x"), "c", "9"), 409, "seq-beyond-head"),
        (read(&json!("x"), "closed", "1"), 409, "conversation-closed"),
        (ack(&json!("x"), "nowhere", &["1"]), 404, "unknown-conversation"),
        (wrong_sender, 422, "malformed"),
        (ack(&json!("x"), "c", &[]), 422, "malformed"),
        (ack(&json!("x"), "c", &["0"]), 422, "malformed"),
        (ack(&json!("x"), "c", &["one"]), 422, "malformed"),
        (ack(&json!("x"), "", &["1"]), 422, "malformed"),
        (read(&json!("x"), "c", "0"), 422, "malformed"),
        (json!({"type": "read", "id": "x", "conversation_id": "c"}), 422, "malformed"),
        (json!({"type": "sing", "id": "x"}), 422, "malformed"),
    ];
    for (request, status, problem) in cases {
        let answer = wire.ask(&request).await;
        assert_eq!(
            (&answer["type"], &answer["id"], &answer["status"], &answer["problem"]),
            (&json!("error"), &json!("x"), &json!(status), &json!(problem)),
            "{request} is answered {answer}"
        );
        assert!(answer["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{answer}");
    }
    let (mut outsider, _) = connected(&server, 99, "phone").await;
    let answer = outsider.ask(&read(&json!("x"), "c", "1")).await;
    assert_eq!((&answer["status"], &answer["problem"]), (&json!(403), &json!("not-a-member")), "{answer}");

    // Every fault is named.
    let answer = wire.ask(&ack(&json!("x"), "c", &["1", "0", "two"])).await;
    let named: Vec<&Value> = answer["items"].as_array().unwrap().iter().map(|item| &item["index"]).collect();
    assert_eq!(named, [1, 2], "{answer}");

    // Nothing of it was stored.
    let unread = server.as_user(8, "phone").get("/v1/unread").await.expect(200).json();
    assert_eq!(unread["conversations"][0]["read_seq"], "0", "{unread}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_requests_at_once_are_each_answered_once() {
    const REQUESTS: usize = 300;
    let server = Server::fresh().await;
    group(&server).await;
    let (mut wire, _) = connected(&server, 8, "phone").await;
    for id in 0..REQUESTS {
        let request = match id % 3 {
            0 => ack(&json!(id), "c", &["1"]),
            1 => read(&json!(id), "c", "2"),
            _ => read(&json!(id), "c", "77"),
        };
        wire.say(&request).await;
    }
    let mut left: BTreeSet<usize> = (0..REQUESTS).collect();
    while !left.is_empty() {
        let frame = wire.frame().await;
        let Some(id) = frame["id"].as_u64() else { continue };
        let id = usize::try_from(id).unwrap();
        assert!(left.remove(&id), "answered twice: {frame}");
        assert_eq!(frame["type"], if id % 3 == 2 { "error" } else { "ok" }, "{frame}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_in_a_hurry_is_told_when_to_come_back() {
    let limits = Options::default()
        .env("READMARK_HTTP__USER_BURST", "10")
        .env("READMARK_HTTP__USER_REQUESTS_PER_S", "1");
    let server = Server::start(limits).await;
    group(&server).await;
    let (mut wire, _) = connected(&server, 8, "phone").await;
    let mut late = device(&server, 8, "late").await;
    let mut refused = None;
    for id in 0..20 {
        let answer = wire.ask(&read(&json!(id), "c", "2")).await;
        if answer["type"] == "error" {
            refused.get_or_insert(answer);
        }
    }
    let refused = refused.expect("20 requests are more than 10");
    assert_eq!((&refused["status"], &refused["problem"]), (&json!(429), &json!("rate-limited")), "{refused}");
    assert!(refused["retry_after_s"].as_u64().is_some_and(|after_s| after_s >= 1), "{refused}");
    // Another device is greeted all the same, and may say that it lives; to begin anew is a request.
    late.hello(None).await;
    assert_eq!(late.frame().await["type"], "snapshot");
    for _ in 0..20 {
        late.say(&json!({"type": "ping"})).await;
        assert_eq!(late.frame().await, json!({"type": "pong"}));
    }
    for _ in 0..20 {
        late.hello(None).await;
    }
    let refused = late.frame_of("error").await;
    assert_eq!((&refused["status"], &refused["id"]), (&json!(429), &Value::Null), "{refused}");
    let (mut other, _) = connected(&server, 9, "phone").await;
    assert_eq!(other.ask(&read(&json!(1), "c", "2")).await["type"], "ok", "it is the user's own limit");
}
