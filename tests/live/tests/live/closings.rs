//! The server ends a connection: with a code that says why, and what to do.

use crate::common::{connected, device, group, phone};
use readmark_test_harness::{DEADLINE, Options, Server, metrics, now_ms, token, wait_until};
use readmark_test_live::{Heard, Refused, Wire, joined, message};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;

/// A client says hello within this time.
const HELLO_LIMIT: Duration = Duration::from_secs(10);
/// After so long without a sign of life a client is given up.
const SILENCE_LIMIT: Duration = Duration::from_secs(75);
/// Later than it should be, on a busy machine.
const LATER: Duration = Duration::from_secs(8);
/// The connection of one user at once.
const PER_USER: usize = 3;
/// Conversations of a user whose device does not read: each message to all of them is so many entries.
const CONVERSATIONS: u64 = 500;
/// What such a device has room for, in bytes.
const SMALL_BUFFER: u32 = 4_096;

/// A close as it is on its way.
fn close_frame(code: u16, words: &str) -> Vec<u8> {
    [&[0x88, 2 + words.len() as u8][..], &code.to_be_bytes(), words.as_bytes()].concat()
}

async fn no_hello(server: &Server) {
    let mut wire = phone(server, 8).await;
    let began = Instant::now();
    wire.say(&json!({"type": "ping"})).await;
    assert_eq!(wire.frame().await, json!({"type": "pong"}), "which is no hello");
    assert_eq!(wire.end().await, Heard::Closed(4002));
    let after = began.elapsed();
    assert!(
        after > HELLO_LIMIT - Duration::from_secs(1) && after < HELLO_LIMIT + LATER,
        "closed after {after:?}"
    );
}

async fn token_expires(server: &Server) {
    let ends_ms = now_ms() + 3_000;
    let claims = json!({"sub": "8", "scope": "user", "endpoint": "short", "exp": ends_ms as f64 / 1_000.0});
    let token = token::sign(&server.secret(), &claims);
    let mut wire = Wire::open(server.listen().unwrap(), &token).await.ok().unwrap();
    wire.hello(None).await;
    assert_eq!(wire.frame().await["type"], "snapshot");
    assert_eq!(wire.end().await, Heard::Closed(4001));
    assert!(now_ms() >= ends_ms, "not before it is over");
    assert!(now_ms() < ends_ms + 8_000, "soon after it is over");
    assert_eq!(Wire::open(server.listen().unwrap(), &token).await.err(), Some(Refused::Status(401)));
}

async fn too_many_of_one_user(server: &Server) {
    let mut held = Vec::new();
    for n in 0..PER_USER {
        held.push(connected(server, 9, &format!("device-{n}")).await.0);
    }
    let mut one_more = device(server, 9, "one-more").await;
    assert_eq!(one_more.end().await, Heard::Closed(4003));
    // Who says hello at once, as clients do, is told so too: the connection is not reset because of what came.
    let mut one_more = device(server, 9, "one-more").await;
    one_more.hello(None).await;
    assert_eq!(one_more.end().await, Heard::Closed(4003));
    assert_eq!(one_more.closing_words.as_deref(), Some("too many connections"));
    let mut came = Vec::new();
    one_more.socket().read_to_end(&mut came).await.expect("it is closed in good order");
    assert_eq!(came, [0_u8; 0], "nothing comes after the close");
    let (mut other, _) = connected(server, 7, "phone").await;
    other.say(&json!({"type": "ping"})).await;
    assert_eq!(other.frame_of("pong").await, json!({"type": "pong"}), "it is the user's own limit");
    for wire in &mut held {
        wire.say(&json!({"type": "ping"})).await;
        assert_eq!(wire.frame_of("pong").await, json!({"type": "pong"}), "those there were stay");
    }
    held.pop();
    wait_until(DEADLINE, "a place to be free", || async {
        let mut wire = device(server, 9, "next").await;
        wire.hello(None).await;
        match wire.hear().await {
            Heard::Frame(frame) if frame["type"] == "snapshot" => Ok(()),
            other @ (Heard::Frame(_) | Heard::Ping | Heard::Closed(_) | Heard::Cut(_)) => {
                Err(format!("{other:?}"))
            }
        }
    })
    .await;
}

/// It does not even answer pings: what came in the end is read below the WebSocket, which would answer them.
async fn says_nothing(server: &Server) {
    let (mut wire, _) = connected(server, 8, "silent").await;
    let mut came = Vec::new();
    let read = wire.socket().read_to_end(&mut came);
    let ended = tokio::time::timeout(SILENCE_LIMIT + LATER, read).await;
    ended.expect("the connection ends").expect("it is closed in good order");
    let ping = [0x89, 0];
    assert_eq!(
        came,
        [&ping[..], &ping, &close_frame(1001, "nothing heard")].concat(),
        "pinged after 30 s and 60 s, given up after 75 s"
    );
}

/// It answers pings and says nothing else.
async fn only_answers_pings(server: &Server) {
    let (mut wire, _) = connected(server, 8, "quiet").await;
    let over = tokio::time::sleep(SILENCE_LIMIT + LATER);
    tokio::pin!(over);
    loop {
        tokio::select! {
            () = &mut over => break,
            heard = wire.next() => assert!(matches!(heard, Heard::Ping | Heard::Frame(_)), "{heard:?}"),
        }
    }
    wire.say(&json!({"type": "ping"})).await;
    assert_eq!(wire.frame_of("pong").await, json!({"type": "pong"}));
}

async fn does_not_read(server: &Server) {
    let id = |n: u64| format!("slow-{n}");
    for n in 0..CONVERSATIONS {
        joined(server, &id(n), &[10, 11]).await;
    }
    let token = token::user(&server.secret(), 11, "phone");
    let to = server.listen().unwrap();
    let mut slow = Wire::with_small_buffer(to, &token, SMALL_BUFFER).await.ok().unwrap();
    slow.hello(None).await;
    assert_eq!(slow.frame().await["type"], "snapshot");
    let (mut quick, _) = connected(server, 11, "desk").await;
    let began = Instant::now();
    // Who is given up is told so for a second: by then it must have begun to read.
    let given_up = async {
        wait_until(DEADLINE * 2, "a client that takes nothing to be given up", || async {
            let samples = server.metrics().await;
            let closed = metrics::sum(&samples, "readmark_slow_clients_closed_total", &[]);
            if closed > 0.0 { Ok(()) } else { Err("it is not".to_owned()) }
        })
        .await;
        slow.end().await
    };
    let others = async {
        for seq in 1.. {
            let messages: Vec<Value> = (0..CONVERSATIONS).map(|n| message(&id(n), 10, seq)).collect();
            server.as_service().events(&messages).await;
            // Another device of the same user is told all the while.
            let seq = seq.to_string();
            let mut left: BTreeSet<String> = (0..CONVERSATIONS).map(id).collect();
            while !left.is_empty() {
                let frame = quick.frame_of("entries").await;
                for entry in frame["entries"].as_array().unwrap() {
                    if entry["head_seq"] == seq.as_str() {
                        left.remove(entry["conversation_id"].as_str().unwrap());
                    }
                }
            }
        }
    };
    tokio::select! {
        end = given_up => assert_eq!(end, Heard::Closed(1013)),
        () = others => {}
    }
    println!("a client that takes nothing is given up after {:.1?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_reason_has_its_code() {
    let limit = PER_USER.to_string();
    let server =
        Server::start(Options::default().env("READMARK_GATEWAY__MAX_CONNECTIONS_PER_USER", &limit)).await;
    group(&server).await;
    tokio::join!(
        no_hello(&server),
        token_expires(&server),
        too_many_of_one_user(&server),
        does_not_read(&server),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_silent_is_given_up_and_who_answers_pings_is_not() {
    let server = Server::fresh().await;
    group(&server).await;
    tokio::join!(says_nothing(&server), only_answers_pings(&server));
}

/// SIGTERM: what is accepted is durable, everybody is told to come back, the process ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_stops_says_so() {
    const READERS: u64 = 20;
    let server = Server::fresh().await;
    let readers: Vec<u64> = (100..100 + READERS).collect();
    joined(&server, "c", &[&[7][..], &readers].concat()).await;
    readmark_test_live::sent(&server, "c", 7, [1]).await;
    let mut wires = Vec::new();
    for uid in &readers {
        wires.push(connected(&server, *uid, "phone").await.0);
    }
    let no_hello = phone(&server, 7).await;
    let ack = json!({"type": "ack", "id": 1, "conversation_id": "c", "messages": [{"seq": "1"}]});
    for wire in &mut wires {
        wire.say(&ack).await;
    }
    server.send_sigterm();
    let ends = wires.into_iter().map(|mut wire| async move {
        let mut accepted = 0;
        loop {
            match wire.hear().await {
                Heard::Frame(frame) if frame["type"] == "ok" => accepted += 1,
                Heard::Frame(frame) => assert_eq!(frame["type"], "entries", "{frame}"),
                Heard::Ping => {}
                end @ (Heard::Closed(_) | Heard::Cut(_)) => return (end, accepted),
            }
        }
    });
    let (ends, end) = tokio::join!(futures::future::join_all(ends), async { { no_hello }.end().await });
    assert_eq!(end, Heard::Closed(1012), "also who has not said hello");
    assert!(ends.iter().all(|(end, _)| *end == Heard::Closed(1012)), "{ends:?}");
    let accepted: u64 = ends.iter().map(|(_, accepted)| accepted).sum();
    assert_eq!(server.ended().await.code(), Some(0));
    server.restart().await;
    let reply = server.as_service().get("/v1/conversations/c/messages/1/receipt").await.expect(200);
    let read: u64 = reply.json()["read"].as_str().unwrap().parse().unwrap();
    assert!(read >= accepted, "{accepted} were accepted, {read} are there");
    println!("{accepted} of {READERS} acks were accepted in the last moment");
}
