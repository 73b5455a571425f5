//! What no client should send. Answered where it can be, and it harms nobody else.

use crate::common::{connected, group};
use readmark_test_harness::{DEADLINE, Server, metrics, wait_until};
use readmark_test_live::{Heard, Wire};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

/// Longest message that is taken.
const MESSAGE_BYTES_MAX: usize = 64 * 1024;

/// A ping of this length, with a field that nobody knows.
fn ping(bytes: usize) -> String {
    let empty = json!({"type": "ping", "x": ""}).to_string();
    json!({"type": "ping", "x": "x".repeat(bytes - empty.len())}).to_string()
}

async fn still_answers(wire: &mut Wire) {
    wire.say(&json!({"type": "ping"})).await;
    assert_eq!(wire.frame_of("pong").await, json!({"type": "pong"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_not_be_read_is_answered_and_the_connection_stays() {
    let server = Server::fresh().await;
    group(&server).await;
    let (mut wire, _) = connected(&server, 8, "phone").await;
    let long_id = json!({"type": "ping", "id": "x".repeat(129)}).to_string();
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let texts = [
        ("", Value::Null),
        ("no JSON", Value::Null),
        ("null", Value::Null),
        ("[]", Value::Null),
        ("{}", Value::Null),
        (r#"{"type":7}"#, Value::Null),
        (r#"{"type":"ack""#, Value::Null),
        (&long_id, Value::Null),
        (&deep, Value::Null),
        (r#"{"type":"ack","id":"i"}"#, json!("i")),
        (r#"{"type":"hello","id":"i","token":7}"#, json!("i")),
        ("{\"type\":\"\u{0}\",\"id\":3}", Value::Null),
        (r#"{"type":"snapshot","id":3}"#, json!(3)),
    ];
    for (text, id) in texts {
        wire.send(Message::text(text)).await;
        let answer = wire.frame().await;
        assert_eq!(
            (&answer["type"], &answer["id"], &answer["status"]),
            (&json!("error"), &id, &json!(422)),
            "{text:?} is answered {answer}"
        );
    }
    wire.send(Message::binary(br#"{"type":"ping"}"#.as_slice())).await;
    let answer = wire.frame().await;
    assert_eq!((&answer["type"], &answer["problem"]), (&json!("error"), &json!("malformed")), "{answer}");

    // As long as may be, in one piece and in several.
    wire.send(Message::text(ping(MESSAGE_BYTES_MAX))).await;
    assert_eq!(wire.frame().await, json!({"type": "pong"}));
    let text = ping(MESSAGE_BYTES_MAX).into_bytes();
    let pieces = text.chunks(20_000).collect::<Vec<_>>();
    for (at, piece) in pieces.iter().enumerate() {
        let kind = OpCode::Data(if at == 0 { Data::Text } else { Data::Continue });
        let frame = Frame::message(piece.to_vec(), kind, at + 1 == pieces.len());
        wire.send(Message::Frame(frame)).await;
    }
    assert_eq!(wire.frame().await, json!({"type": "pong"}));
    wire.send(Message::Ping(b"are you there".as_slice().into())).await;
    still_answers(&mut wire).await;
}

/// What is shown of what was sent is enough to know it again, and no more.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_does_not_repeat_what_was_sent() {
    const ANSWER_BYTES_MAX: usize = 4_000;
    let server = Server::fresh().await;
    let (mut wire, _) = connected(&server, 8, "phone").await;
    for text in ["x", "\u{1}", "€"] {
        let long = text.repeat(60_000 / text.len().max(6));
        for request in [
            json!({"type": long, "id": 1}),
            json!({"type": "ack", "id": 1, "conversation_id": "c", "messages": long}),
            json!({"type": "read", "id": 1, "conversation_id": long, "up_to_seq": "1"}),
            json!({"type": "read", "id": 1, "conversation_id": "c", "up_to_seq": long}),
        ] {
            let answer = wire.ask(&request).await;
            assert_eq!((&answer["type"], &answer["status"]), (&json!("error"), &json!(422)), "{answer}");
            let bytes = answer.to_string().len();
            assert!(bytes <= ANSWER_BYTES_MAX, "{bytes} bytes: {answer}");
        }
    }
}

/// What breaks the protocol ends the connection that it came on, and no other.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_websocket_ends_its_connection() {
    let server = Server::fresh().await;
    group(&server).await;
    let (mut other, _) = connected(&server, 8, "desk").await;

    // FIN and text, masked with zeros: says 100 bytes and sends 3.
    let truncated = [0x81, 0x80 | 100, 0, 0, 0, 0, b'a', b'b', b'c'];
    let unmasked = [0x81, 2, b'{', b'}'];
    let no_utf8 = [0x81, 0x80 | 2, 0, 0, 0, 0, 0xc3, 0x28];
    // 2^63 − 1 bytes are to come.
    let endless = [0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    let unexpected_continuation = [0x80, 0x80 | 1, 0, 0, 0, 0, b'a'];
    let long_ping = [&[0x89, 0xfe, 0, 200, 0, 0, 0, 0][..], &[b'a'; 200]].concat();
    let cases: [(&str, &[u8]); 7] = [
        ("garbage", &[0xff; 64]),
        ("HTTP", b"GET / HTTP/1.1\r\nhost: readmark\r\n\r\n"),
        ("unmasked", &unmasked),
        ("no UTF-8", &no_utf8),
        ("endless", &endless),
        ("a continuation of nothing", &unexpected_continuation),
        ("a long ping", &long_ping),
    ];
    for (what, bytes) in cases {
        let (mut wire, _) = connected(&server, 8, "phone").await;
        wire.socket().write_all(bytes).await.unwrap();
        let end = wire.end().await;
        assert!(matches!(end, Heard::Closed(1002 | 1007 | 1009) | Heard::Cut(_)), "{what}: {end:?}");
    }
    let (mut wire, _) = connected(&server, 8, "phone").await;
    wire.socket().write_all(&truncated).await.unwrap();
    wire.socket().shutdown().await.unwrap();
    let end = wire.end().await;
    assert!(matches!(end, Heard::Closed(_) | Heard::Cut(_)), "{end:?}");

    // One byte too many, in one piece and in several.
    let (mut wire, _) = connected(&server, 8, "phone").await;
    wire.send(Message::text(ping(MESSAGE_BYTES_MAX + 1))).await;
    assert_eq!(wire.end().await, Heard::Closed(1009));
    let (mut wire, _) = connected(&server, 8, "phone").await;
    let text = ping(MESSAGE_BYTES_MAX + 1).into_bytes();
    let (first, second) = text.split_at(MESSAGE_BYTES_MAX / 2);
    for (piece, kind, is_last) in [(first, Data::Text, false), (second, Data::Continue, true)] {
        wire.send(Message::Frame(Frame::message(piece.to_vec(), OpCode::Data(kind), is_last))).await;
    }
    assert_eq!(wire.end().await, Heard::Closed(1009), "in pieces");
    let (mut wire, _) = connected(&server, 8, "phone").await;
    wire.send(Message::text(ping(10 * MESSAGE_BYTES_MAX))).await;
    let end = wire.end().await;
    assert!(matches!(end, Heard::Closed(_) | Heard::Cut(_)), "far too long: {end:?}");

    // A client that leaves is answered in kind; one that vanishes is forgotten.
    let (mut wire, _) = connected(&server, 8, "phone").await;
    wire.send(Message::Close(None)).await;
    let end = wire.end().await;
    assert!(matches!(end, Heard::Closed(_)), "{end:?}");
    drop(connected(&server, 8, "phone").await);
    wait_until(DEADLINE, "one connection to be left", || async {
        let open = metrics::sum(&server.metrics().await, "readmark_websocket_connections", &[]);
        if (open - 1.0).abs() < f64::EPSILON { Ok(()) } else { Err(open.to_string()) }
    })
    .await;
    still_answers(&mut other).await;
}
