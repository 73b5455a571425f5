//! What is no record, each with the word of its dead letter.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may stop at what is impossible"
)]

use readmark_domain::fact::{AckFact, ConversationFact, MarkFact};
use readmark_events::{ConversationChanged, DecodeError, Fact, MAX_RECORD_BYTES, ReadChanged, decode};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The reason a payload is refused for, `fine` when it is not.
fn reason<F: Fact>(key: &str, payload: impl AsRef<[u8]>) -> &'static str {
    decode::<F>(Some(key.as_bytes()), payload.as_ref()).err().map_or("fine", |error| error.reason())
}

/// A well-formed record with one field changed; `null` takes it away.
fn with(record: &Value, field: &str, value: Value) -> String {
    let mut record = record.clone();
    if value.is_null() {
        record.as_object_mut().unwrap().remove(field);
    } else {
        record[field] = value;
    }
    record.to_string()
}

fn message() -> Value {
    json!({"v": 1, "type": "message_sent", "conversation_id": "c1", "seq": "1", "msg_id": "901", "sender_uid": "7",
           "occurred_at": "1780000000000"})
}

fn receipts() -> Value {
    json!({"v": 1, "type": "receipts", "sender_uid": "7", "reader_uid": "8", "conversation_id": "c1",
           "seqs": [["1", "2"]], "origin": "client", "occurred_at": "1780000000000"})
}

fn of_message(field: &str, value: Value) -> &'static str {
    reason::<ConversationFact>("c1", with(&message(), field, value))
}

fn of_receipts(field: &str, value: Value) -> &'static str {
    reason::<AckFact>("7", with(&receipts(), field, value))
}

#[test]
fn no_json_or_another_shape() {
    let truncated = &message().to_string()[..40];
    for payload in [
        "",
        " ",
        "{",
        "null",
        "7",
        "[]",
        "[1]",
        r#""text""#,
        "{}",
        r#"{"v":1}"#,
        "\u{feff}{}",
        truncated,
        "{}{}",
        r#"["message_sent","c1"]"#,
        r#"[null,"c1"]"#,
    ] {
        assert_eq!(reason::<ConversationFact>("c1", payload), "malformed", "{payload:?}");
    }
    assert_eq!(reason::<ConversationFact>("c1", [0xff, 0xfe, 0x00]), "malformed", "no UTF-8");
    assert_eq!(
        reason::<ConversationFact>("c1", format!("{} x", message())),
        "malformed",
        "something behind it"
    );
    let deep = format!("{{\"x\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(reason::<ConversationFact>("c1", deep), "malformed", "nested without end");
}

#[test]
fn unknown_fields_are_tolerated() {
    assert_eq!(of_message("x", json!({"deep": [1, null]})), "fine");
    assert_eq!(of_message("kind", json!(5)), "fine", "a tag of another topic is just a field");
    assert_eq!(of_receipts("x", json!(-1.5e300)), "fine");
}

#[test]
fn unknown_kinds_and_versions_are_named() {
    assert_eq!(of_message("type", json!("message_edited")), "unknown-kind");
    assert_eq!(of_message("type", json!("receipts")), "unknown-kind", "of another topic");
    assert_eq!(of_message("type", json!(5)), "malformed");
    assert_eq!(of_message("type", Value::Null), "malformed", "absent");
    let read = r#"{"kind":"message_unread","uid":"7"}"#;
    assert_eq!(reason::<ReadChanged>("7", read), "unknown-kind");
    assert_eq!(of_message("v", Value::Null), "fine", "absent means 1");
    for version in [json!(0), json!(2), json!(u64::MAX)] {
        assert_eq!(of_message("v", version.clone()), "unknown-version", "{version}");
    }
    for version in [json!(-1), json!(1.5), json!("1"), json!([])] {
        assert_eq!(of_message("v", version.clone()), "malformed", "{version}");
    }
    let of_tomorrow = r#"{"v":2,"type":"message_sent","body":{}}"#;
    assert_eq!(
        reason::<ConversationFact>("c1", of_tomorrow),
        "unknown-version",
        "before its fields are looked at"
    );
}

#[test]
fn keys() {
    let record = message().to_string();
    assert_eq!(reason::<ConversationFact>("c1", &record), "fine");
    assert_eq!(reason::<ConversationFact>("c2", &record), "wrong-key");
    assert_eq!(reason::<ConversationFact>("", &record), "wrong-key");
    let none = decode::<ConversationFact>(None, record.as_bytes()).err().map(|error| error.reason());
    assert_eq!(none, Some("wrong-key"));
    assert_eq!(reason::<AckFact>("8", receipts().to_string()), "wrong-key", "the reader's, not the sender's");
    assert_eq!(reason::<AckFact>("07", receipts().to_string()), "wrong-key");
    let garbage = decode::<AckFact>(Some(&[0xff; 10_000]), receipts().to_string().as_bytes());
    let Err(DecodeError::WrongKey { actual, .. }) = garbage else { panic!("{garbage:?}") };
    assert!(actual.chars().count() <= 64, "a key is shown in part");
}

#[test]
fn sizes() {
    let padded = |bytes: usize| {
        let empty = with(&message(), "x", json!("")).len();
        with(&message(), "x", json!("x".repeat(bytes - empty)))
    };
    assert_eq!(reason::<ConversationFact>("c1", padded(MAX_RECORD_BYTES)), "fine");
    assert_eq!(reason::<ConversationFact>("c1", padded(MAX_RECORD_BYTES + 1)), "too-large");
}

#[test]
fn ids_and_numbers() {
    for seq in [json!("1"), json!(1), json!("1000000000000000"), json!(1_000_000_000_000_000u64)] {
        assert_eq!(of_message("seq", seq.clone()), "fine", "{seq}");
    }
    for seq in [
        json!("0"),
        json!(0),
        json!("1000000000000001"),
        json!(1_000_000_000_000_001u64),
        json!(-1),
        json!("-1"),
        json!(1.5),
        json!(1e300),
        json!("01"),
        json!(" 1"),
        json!(""),
        json!("9".repeat(400)),
        json!(true),
        json!([]),
        Value::Null,
    ] {
        assert_eq!(of_message("seq", seq.clone()), "malformed", "{seq}");
    }
    let huge = message().to_string().replace(r#""seq":"1""#, &format!(r#""seq":{}"#, "9".repeat(400)));
    assert_eq!(reason::<ConversationFact>("c1", huge), "malformed", "a number of 400 digits");
    for (field, value) in [
        ("msg_id", json!(-1)),
        ("msg_id", json!("9223372036854775808")),
        ("sender_uid", json!("-7")),
        ("occurred_at", json!("500000000000001")),
        ("occurred_at", json!(-1)),
        ("countable", json!("true")),
        ("mentions", json!("8")),
        ("mentions", json!([-8])),
    ] {
        assert_eq!(of_message(field, value.clone()), "malformed", "{field} {value}");
    }
}

#[test]
fn texts() {
    let long = "c".repeat(64);
    let record = with(&message(), "conversation_id", json!(long));
    assert_eq!(reason::<ConversationFact>(&long, record), "fine");
    for id in ["".to_owned(), "c".repeat(65), "é".repeat(33), "a\u{0}b".to_owned(), "a\nb".to_owned()] {
        let record = with(&message(), "conversation_id", json!(id));
        assert_eq!(reason::<ConversationFact>(&id, record), "malformed", "{id:?}");
    }
    assert_eq!(of_receipts("endpoint", json!("")), "malformed");
    assert_eq!(of_receipts("endpoint", json!("e".repeat(65))), "malformed");
    assert_eq!(of_receipts("endpoint", json!("e".repeat(64))), "fine");
}

#[test]
fn duplicate_keys() {
    for (field, value) in
        [("seq", r#""2""#), ("type", r#""message_sent""#), ("v", "1"), ("conversation_id", r#""c1""#)]
    {
        let record = message().to_string().replacen('{', &format!(r#"{{"{field}":{value},"#), 1);
        assert_eq!(reason::<ConversationFact>("c1", record), "malformed", "{field}");
    }
    let nested =
        r#"{"type":"closed","conversation_id":"c1","closed":{"order":"1","order":"2","value":true}}"#;
    assert_eq!(reason::<ConversationChanged>("c1", nested), "malformed");
}

#[test]
fn bounds_of_facts() {
    let mentions = |n: u64| json!((0..n).collect::<Vec<_>>());
    assert_eq!(of_message("mentions", mentions(200)), "fine");
    assert_eq!(of_message("mentions", mentions(201)), "bad-fact");
    let skip = |from: u64, to: u64| {
        let record =
            json!({"type": "seq_skipped", "conversation_id": "c1", "from": from, "to": to, "occurred_at": 1});
        reason::<ConversationFact>("c1", record.to_string())
    };
    assert_eq!((skip(1, 65_536), skip(1, 65_537), skip(2, 1)), ("fine", "bad-fact", "bad-fact"));
    assert_eq!(skip(1, 1_000_000_000_000_000), "bad-fact");
    assert_eq!(of_receipts("reader_uid", json!("7")), "bad-fact", "an ack of one's own message");
    assert_eq!(of_receipts("origin", json!("guess")), "malformed");
    let read = |read: u64, total: u64| {
        let record = json!({"kind": "message_read", "uid": "7", "conversation_id": "c1", "seq": "1", "mode": "full",
                            "read": read, "total": total, "tally_version": "0".repeat(32)});
        reason::<ReadChanged>("7", record.to_string())
    };
    assert_eq!((read(2, 2), read(3, 2), read(u64::from(u32::MAX) + 1, 2)), ("fine", "bad-fact", "malformed"));
    let presence = |key: u64| {
        let record = json!({"type": "roster", "conversation_id": "c1", "uid": "8", "presence": key, "joined_seq": "0"});
        reason::<ConversationChanged>("c1", record.to_string())
    };
    assert_eq!((presence(1_000_000_000_000_001), presence(1_000_000_000_000_002)), ("fine", "malformed"));
}

#[test]
fn seqs_of_receipts() {
    for (seqs, wanted) in [
        (json!([]), "bad-fact"),
        (json!([["1", "10000"]]), "fine"),
        (json!([["1", "10001"]]), "bad-fact"),
        (json!([["1", "10000"], ["1", "10000"]]), "fine"),
        (json!([["1", "5000"], ["6000", "11000"]]), "bad-fact"),
        (json!((1..=10_000).map(|n| [2 * n, 2 * n]).collect::<Vec<_>>()), "fine"),
        (json!((1..=10_001).map(|n| [2 * n, 2 * n]).collect::<Vec<_>>()), "bad-fact"),
        (json!([["0", "1"]]), "malformed"),
        (json!([["2", "1"]]), "malformed"),
        (json!([["1", "1000000000000001"]]), "malformed"),
        (json!(["1"]), "malformed"),
        (json!([["1", "2", "3"]]), "malformed"),
    ] {
        let shown: String = seqs.to_string().chars().take(60).collect();
        assert_eq!(of_receipts("seqs", seqs), wanted, "{shown}");
    }
}

/// A few bytes may claim 10^15 seqs. To walk them would take days, so a bound far above any honest time shows
/// that nothing does.
#[test]
fn the_widest_ranges_are_refused_without_walking_them() {
    let began = Instant::now();
    let all = json!(["1", "1000000000000000"]);
    assert_eq!(of_receipts("seqs", json!([all])), "bad-fact");
    assert_eq!(of_receipts("seqs", json!(vec![all.clone(); 9_000])), "bad-fact", "no overflow of the count");
    let uncounted = json!({"type": "uncounted", "conversation_id": "c1", "seqs": [all], "head_seq": "0"});
    assert_eq!(reason::<ConversationChanged>("c1", uncounted.to_string()), "bad-fact");
    let recount = json!({"type": "recount", "sender_uid": "7", "conversation_id": "c1", "seqs": [all], "occurred_at": "1"});
    assert_eq!(reason::<AckFact>("7", recount.to_string()), "bad-fact");
    assert!(began.elapsed() < Duration::from_secs(30), "took {:?}", began.elapsed());
}

#[test]
fn marks_need_a_seq_to_go_to() {
    let mark = |seq: Value| {
        let record = json!({"type": "read_up_to", "uid": "8", "conversation_id": "c1", "up_to_seq": seq,
                            "occurred_at": "1780000000000"});
        reason::<MarkFact>("8", record.to_string())
    };
    assert_eq!(
        (mark(json!("12")), mark(json!(0)), mark(json!("1000000000000001"))),
        ("fine", "malformed", "malformed")
    );
}
