//! hello, and what follows it.

use crate::common::{connected, group, is_shown, phone};
use readmark_test_harness::{Server, token};
use readmark_test_live::{Heard, Wire, joined, sent};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// Without news nothing is said for so long.
const SILENCE: Duration = Duration::from_millis(300);

async fn versions(wire: &mut Wire, count: usize) -> (Vec<u64>, String) {
    let (mut versions, mut token) = (Vec::new(), String::new());
    while versions.len() < count {
        let frame = wire.frame_of("entries").await;
        let entries = frame["entries"].as_array().unwrap().iter();
        versions.extend(entries.map(|entry| entry["version"].as_str().unwrap().parse::<u64>().unwrap()));
        frame["token"].as_str().unwrap().clone_into(&mut token);
    }
    (versions, token)
}

async fn says_nothing(wire: &mut Wire) {
    if let Ok(heard) = tokio::time::timeout(SILENCE, wire.next()).await {
        panic!("nothing was to be said, and came {heard:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_begins_with_a_snapshot_and_goes_on_where_it_stood() {
    let server = Server::fresh().await;
    group(&server).await;
    joined(&server, "empty", &[8]).await;
    is_shown(&server, 8, "empty", 0).await;

    let mut wire = phone(&server, 8).await;
    wire.hello(None).await;
    let first = wire.frame().await;
    assert_eq!(first["type"], "snapshot", "{first}");
    let all = server.as_user(8, "desk").get("/v1/unread?all=true").await.expect(200).json();
    assert_eq!((&first["snapshot"], &first["token"]), (&all, &all["token"]));
    assert_eq!(first["snapshot"]["total"], "2");
    says_nothing(&mut wire).await;

    sent(&server, "c", 7, [3]).await;
    let (told, token) = versions(&mut wire, 1).await;
    drop(wire);

    // What came meanwhile follows, without gaps; a token of one face serves on the other.
    sent(&server, "c", 7, [4]).await;
    sent(&server, "c", 7, [5]).await;
    is_shown(&server, 8, "c", 5).await;
    let mut wire = phone(&server, 8).await;
    wire.hello(Some(&token)).await;
    let ready = wire.frame().await;
    assert_eq!(ready, json!({"type": "ready", "token": token}));
    let (more, token) = versions(&mut wire, 1).await;
    assert_eq!(more[0], told.last().unwrap() + 1);
    let synced = server.as_user(8, "desk").get(&format!("/v1/sync?since={token}")).await.expect(200).json();
    let rest = synced["entries"].as_array().unwrap().len();
    let (_, token) = if rest > 0 { versions(&mut wire, rest).await } else { (Vec::new(), token) };
    assert_eq!(synced["token"], token.as_str());

    // Nothing new: ready, and then nothing.
    let mut again = phone(&server, 8).await;
    again.hello(Some(&token)).await;
    assert_eq!(again.frame().await, json!({"type": "ready", "token": token}));
    says_nothing(&mut again).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_can_not_be_followed_gets_a_snapshot() {
    let server = Server::fresh().await;
    group(&server).await;
    let (mut wire, snapshot) = connected(&server, 8, "phone").await;
    let token = snapshot["token"].as_str().unwrap();
    let (epoch, _) = token.rsplit_once('.').unwrap();
    for since in ["", "x", "store.0", "other.7", &format!("{epoch}.99999"), &"9".repeat(300)] {
        wire.hello(Some(since)).await;
        let frame = wire.frame().await;
        assert_eq!(
            (&frame["type"], &frame["token"]),
            (&json!("snapshot"), &json!(token)),
            "{since}: {frame}"
        );
    }
    // A client that says hello again begins anew.
    wire.hello(Some(token)).await;
    assert_eq!(wire.frame().await["type"], "ready");
    wire.say(&json!({"type": "hello"})).await;
    assert_eq!(wire.frame().await["type"], "snapshot");

    // A process that was restarted has lost what it told.
    server.terminate().await;
    server.restart().await;
    let mut wire = phone(&server, 8).await;
    wire.hello(Some(token)).await;
    let frame = wire.frame().await;
    assert_eq!((&frame["type"], &frame["snapshot"]["total"]), (&json!("snapshot"), &json!("2")), "{frame}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_device_knows_its_own_reads() {
    let server = Server::fresh().await;
    group(&server).await;
    let (mut phone, _) = connected(&server, 8, "phone").await;
    let (mut desk, _) = connected(&server, 8, "desk").await;
    let (mut sender, _) = connected(&server, 7, "phone").await;
    let seen = |entry: &Value| (entry["endpoint"].clone(), entry["own"].clone(), entry["read_seq"].clone());

    let read = json!({"type": "read", "id": "r", "conversation_id": "c", "up_to_seq": "1"});
    phone.say(&read).await;
    let told = phone.entry("conversation_read").await;
    assert_eq!(seen(&told), (json!("phone"), json!(true), json!("1")));
    let told = desk.entry("conversation_read").await;
    assert_eq!(seen(&told), (json!("phone"), json!(false), json!("1")));
    assert_eq!((&told["unread"], &told["total_unread"]), (&json!("1"), &json!("1")));
    // 0 of 2 may be told first: the recount of the joins may come after the message.
    let told = loop {
        let told = sender.entry("message_read").await;
        if told["read"] != "0" {
            break told;
        }
    };
    assert_eq!((&told["seq"], &told["read"], &told["total"]), (&json!("1"), &json!("1"), &json!("2")));
    assert_eq!(told["readers_added"], json!(["8"]));

    // By HTTP it is the same device.
    let body = json!({"up_to_seq": "2"});
    let _ = server.as_user(8, "desk").post("/v1/conversations/c/read", &body).await.expect(202);
    let told = phone.entry("conversation_read").await;
    assert_eq!(seen(&told), (json!("desk"), json!(false), json!("2")));
    assert_eq!(seen(&desk.entry("conversation_read").await), (json!("desk"), json!(true), json!("2")));

    // A token without an endpoint is no device: nothing is its own.
    let claims = json!({"sub": "8", "scope": "user", "exp": token::expires_at_s()});
    let mut nameless =
        Wire::open(server.listen().unwrap(), &token::sign(&server.secret(), &claims)).await.ok().unwrap();
    nameless.hello(None).await;
    assert_eq!(nameless.frame().await["type"], "snapshot");
    let body = json!({"up_to_seq": "2"});
    let _ = server.as_user(8, "desk").post("/v1/conversations/c/clear", &body).await.expect(202);
    sent(&server, "c", 7, [3]).await;
    let _ = server
        .with_token(token::sign(&server.secret(), &claims))
        .post("/v1/conversations/c/read", &json!({"up_to_seq": "3"}))
        .await
        .expect(202);
    let told = nameless.entry("conversation_read").await;
    assert_eq!((&told["own"], &told["read_seq"]), (&json!(false), &json!("3")), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lively_conversation_is_told_whole_to_who_connects_in_the_middle() {
    const MESSAGES: u64 = 200;
    let server = Server::fresh().await;
    group(&server).await;
    let sending = async {
        for seq in 3..=MESSAGES {
            server.as_service().events(&[readmark_test_live::message("c", 7, seq)]).await;
        }
    };
    let following = async {
        let (mut wire, snapshot) = connected(&server, 8, "phone").await;
        let mut head: u64 =
            snapshot["snapshot"]["conversations"][0]["head_seq"].as_str().unwrap().parse().unwrap();
        while head < MESSAGES {
            let told = wire.entry("unread_changed").await;
            let number = |field: &str| told[field].as_str().unwrap().parse::<u64>().unwrap();
            assert!(number("head_seq") > head, "{told}");
            assert_eq!(number("unread"), number("head_seq"), "{told}");
            head = number("head_seq");
        }
        wire.say(&json!({"type": "ping"})).await;
        assert_eq!(wire.hear().await, Heard::Frame(json!({"type": "pong"})));
    };
    tokio::join!(sending, following);
}

/// Longest frame of the server, and its longest message but for a snapshot.
const FRAME_BYTES_MAX: usize = 64 * 1024;

#[tokio::test(flavor = "multi_thread")]
async fn a_user_of_many_conversations_is_told_in_messages_of_bounded_size() {
    const CONVERSATIONS: usize = 1_000;
    let server = Server::fresh().await;
    let ids: Vec<String> = (0..CONVERSATIONS).map(|n| format!("one-of-many-conversations-{n}")).collect();
    let at = json!((readmark_test_harness::now_ms() - 1_000).to_string());
    for uid in ["7", "8"] {
        let join = |id: &String| json!({"type": "member_joined", "conversation_id": id, "uid": uid, "at_seq": "0", "occurred_at": at});
        server.as_service().events(&ids.iter().map(join).collect::<Vec<_>>()).await;
    }
    is_shown(&server, 8, ids.last().unwrap(), 0).await;
    let (mut wire, _) = connected(&server, 8, "phone").await;
    let messages: Vec<Value> = ids.iter().map(|id| readmark_test_live::message(id, 7, 1)).collect();
    server.as_service().events(&messages).await;
    let mut left: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
    let mut total = 0;
    while !left.is_empty() {
        let frame = wire.frame_of("entries").await;
        assert!(frame.to_string().len() <= FRAME_BYTES_MAX, "{frame}");
        for entry in frame["entries"].as_array().unwrap() {
            if entry["unread"] == "1" {
                left.remove(entry["conversation_id"].as_str().unwrap());
                total = entry["total_unread"].as_str().unwrap().parse().unwrap();
            }
        }
    }
    assert_eq!(total, CONVERSATIONS);
    // A snapshot is one message all the same, in several frames.
    let token = token::user(&server.secret(), 8, "desk");
    let to = server.listen().unwrap();
    let mut wire = Wire::with_small_frames(to, &token, FRAME_BYTES_MAX).await.ok().unwrap();
    wire.hello(None).await;
    let snapshot = wire.frame().await;
    assert!(snapshot.to_string().len() > FRAME_BYTES_MAX);
    let told = snapshot["snapshot"]["conversations"].as_array().unwrap();
    assert_eq!(told.len(), CONVERSATIONS);
    assert!(told.iter().all(|row| row["unread"] == "1"));
    wire.say(&json!({"type": "ping"})).await;
    assert_eq!(wire.frame_of("pong").await, json!({"type": "pong"}));
}
