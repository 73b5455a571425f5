//! What must be refused over HTTP, asked of the running program: every answer is a problem document, nothing
//! is stored, nothing is announced, and the server goes on.
#![allow(clippy::expect_used, reason = "tests")]

use readmark_test_harness::{DEADLINE, Server, now_ms, token, wait_until};
use serde_json::{Value, json};

const SENDER: u64 = 7;
const READER: u64 = 8;
const OUTSIDER: u64 = 99;
/// Largest body that is read.
const MAX_BODY: usize = 1024 * 1024;

fn sent(changes: &Value) -> Value {
    let mut event = json!({"type": "message_sent", "conversation_id": "c", "seq": "2", "msg_id": "902", "sender_uid": "7", "occurred_at": now_ms().to_string()});
    for (name, value) in changes.as_object().expect("changes are fields") {
        event[name] = value.clone();
    }
    event
}

/// A conversation with one message.
async fn started() -> Server {
    let server = Server::fresh().await;
    let joined = |uid: u64| json!({"type": "member_joined", "conversation_id": "c", "uid": uid.to_string(), "at_seq": "0", "occurred_at": (now_ms() - 5).to_string()});
    let events = [joined(SENDER), joined(READER), sent(&json!({"seq": "1", "msg_id": "901"}))];
    server.as_service().events(&events).await;
    wait_until(DEADLINE, "the message to be known", || async {
        let reply = server
            .as_service()
            .try_send("GET", "/v1/conversations/c/messages/1/receipt", &Value::Null)
            .await?;
        // The message shows before the head does, which its reader's unread is counted by.
        let unread = server.as_user(READER, "phone").try_send("GET", "/v1/unread", &Value::Null).await?;
        let known = reply.json()["total"] == "1" && unread.json()["total"] == "1";
        if known { Ok(()) } else { Err(format!("{reply}; {unread}")) }
    })
    .await;
    server
}

/// Nothing of what was refused may have left a trace.
async fn nothing_happened(server: &Server) {
    let receipt = server.as_service().get("/v1/conversations/c/messages/1/receipt").await.expect(200).json();
    let shown = ["read", "total", "msg_id", "sender_uid"].map(|field| receipt[field].clone());
    assert_eq!(shown, ["0", "1", "901", "7"].map(Value::from), "{receipt}");
    let unread = server.as_user(READER, "phone").get("/v1/unread").await.expect(200).json();
    assert_eq!(unread["total"], "1", "{unread}");
    for topic in ["acks", "marks", "dead-letters"] {
        let mut records = server.topic(topic).await;
        // The joins may have led to one.
        records.retain(|record| record.json()["type"] != "recount");
        assert!(records.is_empty(), "{topic}: {records:?}");
    }
    assert_eq!(server.topic("conversation-events").await.len(), 3);
}

fn bad_events() -> Vec<(&'static str, String)> {
    let event = |changes: Value| json!({"events": [sent(&changes)]}).to_string();
    let many = |count: u64| {
        json!({"events": (0..count).map(|n| sent(&json!({"seq": (n + 2).to_string()}))).collect::<Vec<_>>()})
            .to_string()
    };
    vec![
        ("malformed JSON", r#"{"events":[{"type":"#.to_owned()),
        ("no JSON", "message_sent".to_owned()),
        ("an empty list", many(0)),
        ("1,001 events", many(1_001)),
        ("a wrong type", event(json!({"countable": "yes"}))),
        ("a negative seq", event(json!({"seq": -1}))),
        ("a huge seq", event(json!({"seq": "99999999999999999999999999"}))),
        ("seq 0", event(json!({"seq": "0"}))),
        ("seq 10^15 + 1", event(json!({"seq": "1000000000000001"}))),
        ("a fraction", event(json!({"seq": 2.5}))),
        ("an id of 0 bytes", event(json!({"conversation_id": ""}))),
        ("an id of 65 bytes", event(json!({"conversation_id": "c".repeat(65)}))),
        ("a negative uid", event(json!({"sender_uid": "-7"}))),
        ("a msg_id beyond 63 bits", event(json!({"msg_id": "9223372036854775808"}))),
        ("occurred_at in the future", event(json!({"occurred_at": (now_ms() + 3_600_000).to_string()}))),
        ("an unknown type", event(json!({"type": "message_lost"}))),
        ("a missing field", r#"{"events":[{"type":"message_sent","conversation_id":"c"}]}"#.to_owned()),
        ("a duplicate key", format!(r#"{{"events":[{}],"events":[]}}"#, sent(&json!({})))),
        (
            "one bad event among good ones",
            json!({"events": [sent(&json!({})), sent(&json!({"seq": "0"}))]}).to_string(),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn events_that_are_malformed() {
    let server = started().await;
    for (what, body) in bad_events() {
        let reply = server.as_service().send("POST", "/v1/events", body).await;
        assert_eq!(reply.status, 422, "{what}: {reply}");
        assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{what}");
        assert_eq!(reply.json()["status"], 422, "{what}: {reply}");
    }
    let padded = format!(r#"{{"events":[{}],"padding":"{}"}}"#, sent(&json!({})), "x".repeat(MAX_BODY));
    let reply = server.as_service().send("POST", "/v1/events", padded).await;
    assert_eq!(reply.status, 413, "a body beyond the limit: {reply}");
    nothing_happened(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn acks_that_must_be_refused() {
    let server = started().await;
    let ack = |messages: Value| json!({"conversation_id": "c", "messages": messages}).to_string();
    let many: Vec<Value> = (1..=1_001).map(|seq| json!({"seq": seq.to_string()})).collect();
    let cases = [
        (READER, "malformed JSON", "{".to_owned(), 422),
        (READER, "no messages", ack(json!([])), 422),
        (READER, "1,001 messages", ack(json!(many)), 422),
        (READER, "seq 0", ack(json!([{"seq": "0"}])), 422),
        (READER, "seq 10^15 + 1", ack(json!([{"seq": "1000000000000001"}])), 422),
        (READER, "another sender", ack(json!([{"seq": "1", "sender_uid": "9"}])), 422),
        (OUTSIDER, "an outsider", ack(json!([{"seq": "1"}])), 403),
        (
            READER,
            "an unknown conversation",
            json!({"conversation_id": "d", "messages": [{"seq": "1"}]}).to_string(),
            404,
        ),
        (READER, "beyond the head", ack(json!([{"seq": "2"}])), 409),
    ];
    for (uid, what, body, status) in cases {
        let reply = server.as_user(uid, "phone").send("POST", "/v1/acks", body).await;
        assert_eq!(reply.status, status, "{what}: {reply}");
        assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{what}");
    }
    let own = server
        .as_user(SENDER, "phone")
        .send("POST", "/v1/acks", ack(json!([{"seq": "1"}])))
        .await
        .expect(202);
    assert_eq!(own.json()["ignored"], json!([{"seq": "1", "reason": "own_message"}]), "{own}");
    nothing_happened(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_must_be_refused() {
    let server = started().await;
    let secret = server.secret();
    let claims = |expires_at_s: u64| json!({"sub": READER.to_string(), "scope": "user", "endpoint": "phone", "exp": expires_at_s});
    let good = claims(token::expires_at_s());
    let without = |name: &str| {
        let mut claims = good.clone();
        claims.as_object_mut().expect("claims are an object").remove(name);
        claims
    };
    let header = |algorithm: &str| json!({"alg": algorithm, "typ": "JWT"});
    let signed = token::sign(&secret, &good);
    let (body, _) = signed.rsplit_once('.').expect("a token has three parts");
    let cases = [
        ("no token", String::new()),
        ("no JWT", "hello".to_owned()),
        ("expired", token::sign(&secret, &claims(now_ms() / 1_000 - 3_600))),
        ("of another key", token::sign(b"another secret of thirty-two bytes", &good)),
        ("alg none", token::forge(&header("none"), &good, b"")),
        ("alg None", token::forge(&header("None"), &good, b"")),
        ("a signature cut off", format!("{body}.")),
        ("signed for another algorithm", token::forge(&header("RS256"), &good, &[7; 256])),
        ("without sub", token::sign(&secret, &without("sub"))),
        ("without exp", token::sign(&secret, &without("exp"))),
        ("without scope", token::sign(&secret, &without("scope"))),
        (
            "sub that is no uid",
            token::sign(&secret, &json!({"sub": "-8", "scope": "user", "exp": token::expires_at_s()})),
        ),
        (
            "an unknown scope",
            token::sign(&secret, &json!({"sub": "8", "scope": "root", "exp": token::expires_at_s()})),
        ),
    ];
    for (what, token) in cases {
        let caller = if token.is_empty() { server.anonymous() } else { server.with_token(token) };
        let reply = caller.get("/v1/unread").await;
        assert_eq!(reply.status, 401, "{what}: {reply}");
        assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{what}");
    }
    let _ = server.with_token(signed).get("/v1/unread").await.expect(200);
    let events = json!({"events": [sent(&json!({}))]});
    let _ = server.as_user(READER, "phone").post("/v1/events", &events).await.expect(403);
    nothing_happened(&server).await;
}

/// Another message at a known seq is accepted as a fact and becomes a dead letter; the known one stays.
#[tokio::test(flavor = "multi_thread")]
async fn another_message_at_a_known_seq() {
    let server = started().await;
    server.as_service().events(&[sent(&json!({"seq": "1", "msg_id": "555", "sender_uid": "8"}))]).await;
    let dead = wait_until(DEADLINE, "the dead letter", || async {
        let dead = server.topic("dead-letters").await;
        if dead.len() == 1 { Ok(dead) } else { Err(format!("{} dead letters", dead.len())) }
    })
    .await;
    assert_eq!(dead[0].header("reason"), "seq-conflict");
    assert_eq!(dead[0].key.as_deref(), Some("c"));
    let receipt = server.as_service().get("/v1/conversations/c/messages/1/receipt").await.expect(200).json();
    assert_eq!((&receipt["msg_id"], &receipt["sender_uid"]), (&json!("901"), &json!("7")), "{receipt}");
}
