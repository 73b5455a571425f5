//! Records that anybody may have put into the topics: what can't be handled becomes a dead letter that says
//! why and where it lay, holds the original bytes, and the partition goes on behind it.
#![allow(clippy::expect_used, reason = "tests")]

use readmark_test_harness::{DEADLINE, Options, Server, TopicRecord, now_ms, wait_until};
use serde_json::{Value, json};

/// Largest payload that is read.
const MAX_RECORD: usize = 256 * 1024;
/// What a letter keeps of a payload.
const KEPT: usize = 512 * 1024;

struct Bad {
    what: &'static str,
    topic: &'static str,
    key: &'static str,
    payload: Vec<u8>,
    reason: &'static str,
}

fn bad(
    what: &'static str,
    topic: &'static str,
    key: &'static str,
    payload: impl Into<Vec<u8>>,
    reason: &'static str,
) -> Bad {
    Bad { what, topic, key, payload: payload.into(), reason }
}

fn receipts(changes: &Value) -> String {
    let mut fact = json!({"v": 1, "type": "receipts", "sender_uid": "7", "reader_uid": "8", "conversation_id": "c", "seqs": [["1", "1"]], "origin": "client", "occurred_at": now_ms().to_string()});
    for (name, value) in changes.as_object().expect("changes are fields") {
        fact[name] = value.clone();
    }
    fact.to_string()
}

fn sent(seq: u64) -> Value {
    json!({"type": "message_sent", "conversation_id": "c", "seq": seq.to_string(), "msg_id": (900 + seq).to_string(), "sender_uid": "7", "occurred_at": now_ms().to_string()})
}

fn bad_records() -> Vec<Bad> {
    let good = receipts(&json!({}));
    let mark = json!({"type": "read_up_to", "uid": "8", "conversation_id": "c", "up_to_seq": "1", "occurred_at": now_ms().to_string()});
    let oversized = format!("{good}{}", " ".repeat(MAX_RECORD));
    vec![
        bad("garbage", "acks", "7", [0xff, 0x00, 0xfe].repeat(40), "malformed"),
        bad("nothing", "acks", "7", "", "malformed"),
        bad("truncated", "acks", "7", &good.as_bytes()[..good.len() / 2], "malformed"),
        bad("oversized", "acks", "7", oversized, "too-large"),
        bad("as large as the log takes", "acks", "7", vec![b'x'; 980_000], "too-large"),
        bad("of another version", "acks", "7", receipts(&json!({"v": 99})), "unknown-version"),
        bad("of an unknown type", "acks", "7", receipts(&json!({"type": "applause"})), "unknown-kind"),
        bad("under another key", "acks", "8", good, "wrong-key"),
        bad("seq 0", "acks", "7", receipts(&json!({"seqs": [["0", "1"]]})), "malformed"),
        bad("10,001 seqs", "acks", "7", receipts(&json!({"seqs": [["1", "10001"]]})), "bad-fact"),
        bad("of one's own message", "acks", "7", receipts(&json!({"reader_uid": "7"})), "bad-fact"),
        bad("of another's message", "acks", "9", receipts(&json!({"sender_uid": "9"})), "sender-mismatch"),
        bad("garbage", "marks", "8", [0xff; 64], "malformed"),
        bad("a mark under another key", "marks", "9", mark.to_string(), "wrong-key"),
        bad("garbage", "conversation-events", "c", [0xff; 64], "malformed"),
        bad("an event under another key", "conversation-events", "d", sent(9).to_string(), "wrong-key"),
        bad("an empty object", "conversation-events", "c", "{}", "malformed"),
    ]
}

async fn started(server: Server) -> Server {
    let joined = |uid: u64| json!({"type": "member_joined", "conversation_id": "c", "uid": uid.to_string(), "at_seq": "0", "occurred_at": (now_ms() - 5).to_string()});
    server.as_service().events(&[joined(7), joined(8), sent(1)]).await;
    expect_counts(&server, 1, "0").await;
    server
}

async fn expect_counts(server: &Server, seq: u64, read: &str) {
    let path = format!("/v1/conversations/c/messages/{seq}/receipt");
    wait_until(DEADLINE, &path, || async {
        let reply = server.as_service().try_send("GET", &path, &Value::Null).await?;
        let answer = reply.json();
        if answer["read"] == read && answer["total"] == "1" { Ok(()) } else { Err(reply.to_string()) }
    })
    .await;
}

/// The dead letter of the newest record of `topic` under `key`.
fn letter_of<'a>(dead: &'a [TopicRecord], topic: &str, record: &TopicRecord) -> Option<&'a TopicRecord> {
    let (partition, offset) = (record.partition.to_string(), record.offset.to_string());
    dead.iter().find(|letter| {
        letter.header("source-topic") == topic
            && letter.header("source-partition") == partition
            && letter.header("source-offset") == offset
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_records_become_dead_letters_and_their_partitions_go_on() {
    become_dead_letters(Server::fresh().await).await;
}

/// By any other client of Kafka.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_on_kafka_and_cassandra() {
    become_dead_letters(Server::start(Options::full()).await).await;
}

async fn become_dead_letters(server: Server) {
    let server = started(server).await;
    let records = bad_records();
    for record in &records {
        server.put_record(record.topic, record.key, &record.payload).await;
    }
    // What lies behind the bad records, in each of their partitions.
    server.as_service().events(&[sent(2), sent(3)]).await;
    let reader = server.as_user(8, "phone");
    let acked = json!({"conversation_id": "c", "messages": [{"seq": "2"}]});
    let _ = reader.post_until_answered("/v1/acks", &acked).await.expect(202);
    let _ =
        reader.post_until_answered("/v1/conversations/c/read", &json!({"up_to_seq": "3"})).await.expect(202);
    for seq in 1..=3 {
        expect_counts(&server, seq, "1").await;
    }
    for record in &records {
        let what = format!("{} in {}: {}", record.what, record.topic, record.reason);
        wait_until(DEADLINE, &what, || async {
            let dead = server.topic("dead-letters").await;
            let sources = server.topic(record.topic).await;
            let mut found = sources
                .iter()
                .filter(|source| source.key.as_deref() == Some(record.key))
                .filter(|source| {
                    source.payload_base64.is_some() || source.payload.as_bytes() == record.payload
                })
                .filter_map(|source| Some((source, letter_of(&dead, record.topic, source)?)))
                .filter(|(_, letter)| letter.header("reason") == record.reason);
            let said = || dead.iter().map(|letter| (&letter.key, &letter.headers)).collect::<Vec<_>>();
            let (source, letter) = found.next().ok_or_else(|| format!("{:?}", said()))?;
            assert_eq!(letter.key, source.key, "{what}: the key is kept");
            if record.payload.len() > KEPT {
                assert_eq!(letter.payload, source.payload[..KEPT], "{what}: the beginning is kept");
                assert_eq!(
                    letter.header("cut-from-bytes"),
                    (record.payload.len() + record.key.len()).to_string()
                );
            } else {
                let same =
                    (&letter.payload, &letter.payload_base64) == (&source.payload, &source.payload_base64);
                assert!(same, "{what}: the bytes are kept");
            }
            for name in ["role", "detail", "attempts", "first-failed-at-ms"] {
                assert!(!letter.header(name).is_empty(), "{what}: has a {name}: {:?}", letter.headers);
            }
            Ok(())
        })
        .await;
    }
    let text = server.output().text();
    assert!(!text.contains("panicked"), "{text}");
}

/// Records in the topics that only readmark writes: nobody in this program reads them back, so they do no harm.
#[tokio::test(flavor = "multi_thread")]
async fn garbage_in_readmarks_own_topics_does_no_harm() {
    let server = started(Server::fresh().await).await;
    for topic in ["read-changed", "conversation-changed", "dead-letters"] {
        server.put_record(topic, "7", &[0xff; 64]).await;
    }
    let acked = json!({"conversation_id": "c", "messages": [{"seq": "1"}]});
    let _ = server.as_user(8, "phone").post_until_answered("/v1/acks", &acked).await.expect(202);
    expect_counts(&server, 1, "1").await;
    server.terminate().await;
    server.restart().await;
    expect_counts(&server, 1, "1").await;
}
