//! What the adapter sends: how many requests, what expires when, what the server refuses.

use crate::server::{keyspace, now, open, session};
use readmark_domain::counting::{Message, MessageFlags};
use readmark_domain::id::{ConversationId, MsgId, Seq, Uid};
use readmark_domain::time::TimeMs;
use readmark_store::cql::{LATEST_EXPIRY, expire_days_max};
use readmark_store::{
    Bucket, MessageStore, ReadArrayAdd, ReadArrayStore, ReceiptStore, StoreErrorKind, UserStore,
};

pub fn seq(n: u64) -> Seq {
    Seq::new(n).unwrap()
}

pub fn message(id: &ConversationId, n: u64) -> Message {
    Message {
        conversation_id: id.clone(),
        seq: seq(n),
        msg_id: MsgId::new(n).unwrap(),
        sender_uid: Uid::new(7).unwrap(),
        sent_at: now(),
        countable: true,
        chunks: 1,
    }
}

pub fn add(id: &ConversationId, n: u64, readers: std::ops::Range<u64>) -> ReadArrayAdd {
    ReadArrayAdd {
        conversation_id: id.clone(),
        seq: seq(n),
        chunks: 1,
        message_expires_at: now().plus_ms(600_000),
        readers: readers.map(|n| Uid::new(n).unwrap()).collect(),
    }
}

/// A flush of 20 messages of one bucket with 20 readers each is one request: 0.0025 a receipt.
#[tokio::test(flavor = "multi_thread")]
async fn a_flush_of_one_bucket_is_one_request() {
    let store = open().await;
    let id = ConversationId::new("one request").unwrap();
    let adds: Vec<_> = (1..=20).map(|n| add(&id, n, 0..20)).collect();
    let before = store.requests_total();
    store.add_readers(&adds).await.unwrap();
    assert_eq!(store.requests_total() - before, 1);
    let seqs: Vec<Seq> = (1..=20).map(seq).collect();
    let before = store.requests_total();
    let arrays = store.read_arrays(&id, &seqs).await.unwrap();
    assert!(arrays.iter().all(|array| array.len() == 20));
    assert_eq!(store.requests_total() - before, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn wide_ranges_are_bounded_work() {
    let store = open().await;
    let id = ConversationId::new("wide ranges").unwrap();
    let flags = MessageFlags { skipped: true, ..MessageFlags::default() };
    let far = seq(Seq::MAX - 5);
    store.add_flags(&id, &[(seq(3), flags), (far, flags)]).await.unwrap();
    let bucket = Bucket { bucket: far.bucket(), newest_sent_at: now() };
    store.raise_buckets(&id, &[bucket]).await.unwrap();
    let late = Message { seq: far, ..message(&id, 1) };
    store.write_messages(&[(late.clone(), now().plus_ms(60_000))]).await.unwrap();
    let before = store.requests_total();
    let found = store.flags(&id, seq(1), Seq::LAST, 100).await.unwrap();
    assert_eq!(found, [(seq(3), flags), (far, flags)]);
    assert_eq!(store.messages(&id, seq(1), Seq::LAST).await.unwrap(), [late]);
    assert!(store.requests_total() - before <= 5, "{} requests", store.requests_total() - before);
}

/// What remains of a message's life, and nothing else, expires.
#[tokio::test(flavor = "multi_thread")]
async fn messages_and_chunks_carry_what_remains() {
    let (store, session, keyspace) = (open().await, session().await, keyspace().await);
    let id = ConversationId::new("what remains").unwrap();
    store.raise_buckets(&id, &[Bucket { bucket: 0, newest_sent_at: now() }]).await.unwrap();
    store.write_messages(&[(message(&id, 1), now().plus_ms(500_000))]).await.unwrap();
    let text = format!(
        "SELECT TTL(message), TTL(chunks) FROM {keyspace}.messages WHERE conversation_id = ? AND bucket = 0"
    );
    let rows = session.query_unpaged(text, (id.as_str(),)).await.unwrap().into_rows_result().unwrap();
    let (of_message, of_chunks) = rows.single_row::<(i32, i32)>().unwrap();
    assert!(
        (480..=500).contains(&of_message) && (480..=500).contains(&of_chunks),
        "{of_message}, {of_chunks}"
    );
    let text = format!("SELECT TTL(newest_sent_at) FROM {keyspace}.buckets WHERE conversation_id = ?");
    let rows = session.query_unpaged(text, (id.as_str(),)).await.unwrap().into_rows_result().unwrap();
    assert_eq!(rows.single_row::<(Option<i32>,)>().unwrap(), (None,), "buckets never expire");
}

/// A zombie wrote the same message just before, or writes it just after: it stays as it is.
#[tokio::test(flavor = "multi_thread")]
async fn two_writers_that_find_nothing_write_one_message() {
    let id = ConversationId::new("two writers").unwrap();
    let expires_at = now().plus_ms(500_000);
    let mut running = tokio::task::JoinSet::new();
    let store = std::sync::Arc::new(open().await);
    for writer in 0..8_u64 {
        let (store, id) = (std::sync::Arc::clone(&store), id.clone());
        running.spawn(async move {
            for n in 1..=50 {
                // The IM's fault: one seq, two messages. Any one of them stays, in one piece.
                let mine = Message {
                    msg_id: MsgId::new(writer).unwrap(),
                    sender_uid: Uid::new(writer).unwrap(),
                    ..message(&id, n)
                };
                store.write_messages(&[(mine, expires_at)]).await.unwrap();
            }
        });
    }
    running.join_all().await;
    let first = store.messages(&id, seq(1), seq(50)).await.unwrap();
    assert_eq!(first.len(), 50);
    assert!(first.iter().all(|message| message.msg_id.get() == message.sender_uid.get()), "{first:?}");
    for n in 1..=50 {
        store.write_messages(&[(message(&id, n), expires_at.plus_ms(9_000))]).await.unwrap();
    }
    assert_eq!(store.messages(&id, seq(1), seq(50)).await.unwrap(), first, "a known message was rewritten");
}

/// Cassandra takes no expiry beyond 2038 by default, and the greatest configuration stays below it.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_server_refuses_is_refused_with_its_place() {
    let store = open().await;
    let id = ConversationId::new("refused").unwrap();
    // A minute either way: the server's clock counts.
    for expires_at in [TimeMs::new(TimeMs::MAX).unwrap(), LATEST_EXPIRY.plus_ms(60_000)] {
        let error = store.write_messages(&[(message(&id, 1), expires_at)]).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Refused, "{error}");
        assert!(!error.is_retryable() && error.to_string().contains("messages refused bucket 0"), "{error}");
    }
    store.write_messages(&[(message(&id, 2), LATEST_EXPIRY.minus_ms(60_000))]).await.unwrap();
    let longest = now().plus_ms(expire_days_max(now()) * 86_400_000);
    store.write_messages(&[(message(&id, 3), longest)]).await.unwrap();
    let add = ReadArrayAdd { message_expires_at: longest, ..add(&id, 3, 0..1) };
    store.add_readers(&[add]).await.unwrap();
    assert_eq!(store.messages(&id, seq(1), seq(3)).await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_corrupt() {
    let (store, session, keyspace) = (open().await, session().await, keyspace().await);
    store.probe().await.unwrap();
    let uid = Uid::new(666).unwrap();
    let id = ConversationId::new("corrupt").unwrap();
    let text = format!(
        "UPDATE {keyspace}.user_conversations USING TIMESTAMP 1 SET read = 0x0102 WHERE uid = 666 AND conversation_id = ?"
    );
    session.query_unpaged(text, (id.as_str(),)).await.unwrap();
    let error = store.user_conversation(uid, &id).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Corrupt, "{error}");
    assert!(error.to_string().contains("user_conversations 666 corrupt"), "{error}");
}
