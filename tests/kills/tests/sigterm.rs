//! SIGTERM drains: what is under way is answered, windows are flushed, positions are stored, the exit code is 0.
#![allow(clippy::expect_used, reason = "tests")]

use readmark_test_harness::device::Devices;
use readmark_test_harness::{DEADLINE, Options, OwnProcess, Server, Signal, now_ms, token, wait_until};
use readmark_test_kills::raw::begin_post;
use serde_json::{Value, json};
use std::process::Stdio;

/// A group whose window is a second, so that a window is open when SIGTERM comes.
const MEMBERS: u64 = 600;
/// Readers whose acks are under way when SIGTERM comes.
const UNDER_WAY: u64 = 20;
const SENDER: u64 = 7;
const FIRST_READER: u64 = 1_000;

fn join(uid: u64) -> Value {
    json!({"type": "member_joined", "conversation_id": "c", "uid": uid.to_string(), "at_seq": "0", "occurred_at": (now_ms() - 1_000).to_string()})
}

async fn group(options: Options) -> Server {
    let server = Server::start(options).await;
    let mut events: Vec<Value> = (0..MEMBERS).map(|n| join(FIRST_READER + n)).collect();
    events.push(join(SENDER));
    events.push(json!({"type": "message_sent", "conversation_id": "c", "seq": "1", "msg_id": "901", "sender_uid": SENDER.to_string(), "occurred_at": now_ms().to_string()}));
    server.as_service().events(&events).await;
    wait_until(DEADLINE, "the message to be known", || async {
        let path = "/v1/conversations/c/messages/1/receipt";
        let reply = server.as_service().try_send("GET", path, &Value::Null).await?;
        if reply.json()["total"] == MEMBERS.to_string().as_str() { Ok(()) } else { Err(reply.to_string()) }
    })
    .await;
    server
}

async fn answers_flushes_and_stores(options: Options) {
    let server = group(options).await;
    let listen = server.listen().expect("the server is running");
    let body = json!({"conversation_id": "c", "messages": [{"seq": "1"}]}).to_string();
    let mut half_sent = Vec::new();
    for n in 0..UNDER_WAY {
        let token = token::user(&server.secret(), FIRST_READER + n, "phone");
        half_sent.push(begin_post(listen, "/v1/acks", &token, &body).await);
    }
    server.send_sigterm();
    for request in half_sent {
        let answer = request.finish().await;
        assert!(answer.starts_with("HTTP/1.1 202 "), "under way at SIGTERM, answered with {answer}");
    }
    assert_eq!(server.ended().await.code(), Some(0));

    let told = server.topic("read-changed").await;
    let shown = Devices::of(&server).await.shown("c", 1).map(|shown| (shown.read, shown.total));
    assert_eq!(shown, Some((UNDER_WAY, MEMBERS)), "windows are flushed before the program ends");

    // Positions were stored, so nothing is handled or told again.
    server.restart().await;
    let reply = server.as_service().get("/v1/conversations/c/messages/1/receipt").await.expect(200);
    assert_eq!(reply.json()["read"], UNDER_WAY.to_string().as_str(), "{reply}");
    server.terminate().await;
    let again = server.topic("read-changed").await;
    assert_eq!(again.len(), told.len(), "told again after a clean stop");
}

async fn ends_at_once_and_comes_back(options: Options) {
    let server = group(options).await;
    for _ in 0..3 {
        server.terminate().await;
        server.restart().await;
    }
    let reply = server.as_service().get("/v1/conversations/c/messages/1/receipt").await.expect(200);
    assert_eq!(reply.json()["total"], MEMBERS.to_string().as_str(), "{reply}");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_under_way_are_answered_and_windows_are_flushed() {
    answers_flushes_and_stores(Options::default()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_under_way_are_answered_and_windows_are_flushed_on_full_parts() {
    answers_flushes_and_stores(Options::full()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_server_ends_at_once_and_comes_back() {
    ends_at_once_and_comes_back(Options::default()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_server_ends_at_once_and_comes_back_on_full_parts() {
    ends_at_once_and_comes_back(Options::full()).await;
}

/// A log collector that has died, or `readmark up 2>&1 | head`: no reason to lose a task, or not to stop.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_log_nobody_reads_serves_and_stops() {
    let server = Server::stopped(Options::default());
    let mut command = server.operator(&["up", "--listen", "127.0.0.1:0"]);
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut process = OwnProcess::start(command);
    drop(process.0.stderr.take());
    let file = server.data_dir().join("listen");
    let listen = wait_until(DEADLINE, "the address to be announced", || async {
        let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
        text.trim().parse().map_err(|_| text)
    });
    let listen: std::net::SocketAddr = listen.await;
    let (token, body) = (token::service(&server.secret()), json!({"events": [join(SENDER)]}).to_string());
    let answer = begin_post(listen, "/v1/events", &token, &body).await.finish().await;
    assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");

    assert_eq!(process.ends_when_asked(Signal::TERM).await.code(), Some(0));
}
