//! The conformance suite on the embedded store, and what is its own: keeping over a restart, sweeping.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use readmark_domain::counting::{Message, MessageFlags};
use readmark_domain::id::{ConversationId, MsgId, Seq, Uid};
use readmark_domain::time::TimeMs;
use readmark_embedded::redb::WriteTransaction;
use readmark_embedded::{Engine, EngineOptions, SealedTable};
use readmark_store::conformance::{ManualClock, Subject, SuiteClock};
use readmark_store::embedded::{EmbeddedStore, Swept};
use readmark_store::{
    ConversationStore, DeadLetterStore, MessageStore, ReadArrayAdd, ReadArrayStore, ReceiptStore,
    StoreErrorKind,
};
use std::path::Path;
use std::sync::Arc;

const HOUR_MS: u64 = 3_600_000;

fn engine(directory: &Path) -> Engine {
    Engine::open(directory.join("store.redb"), &EngineOptions::default()).unwrap()
}

async fn open(directory: &Path, clock: &Arc<ManualClock>) -> EmbeddedStore {
    let clock = Arc::clone(clock);
    EmbeddedStore::open(engine(directory), Arc::new(move || clock.now())).await.unwrap()
}

async fn subject(tag: u32) -> Subject {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::default());
    let store = open(directory.path(), &clock).await;
    Subject::new(Arc::new(store), clock, tag, directory)
}

readmark_store::receipt_store_conformance!(subject);

fn seq(n: u64) -> Seq {
    Seq::new(n).unwrap()
}

fn uids(first: u64, last: u64) -> Vec<Uid> {
    (first..=last).map(|n| Uid::new(n).unwrap()).collect()
}

async fn write_message(store: &EmbeddedStore, id: &ConversationId, n: u64, expires_at: TimeMs) {
    let message = Message {
        conversation_id: id.clone(),
        seq: seq(n),
        msg_id: MsgId::new(n).unwrap(),
        sender_uid: Uid::new(7).unwrap(),
        sent_at: TimeMs::ZERO,
        countable: true,
        chunks: 1,
    };
    store.write_messages(&[(message, expires_at)]).await.unwrap();
}

async fn add_readers(store: &EmbeddedStore, id: &ConversationId, n: u64, expires_at: TimeMs, chunks: u16) {
    let add = ReadArrayAdd {
        conversation_id: id.clone(),
        seq: seq(n),
        chunks,
        message_expires_at: expires_at,
        readers: uids(1, 40),
    };
    store.add_readers(&[add]).await.unwrap();
}

async fn write(store: &EmbeddedStore, id: &ConversationId, n: u64, expires_at: TimeMs, chunks: u16) {
    write_message(store, id, n, expires_at).await;
    add_readers(store, id, n, expires_at, chunks).await;
}

#[tokio::test]
async fn what_was_written_is_there_after_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::default());
    let id = ConversationId::new("c").unwrap();
    let store = open(directory.path(), &clock).await;
    write(&store, &id, 5, clock.now().plus_ms(HOUR_MS), 4).await;
    drop(store);
    let store = open(directory.path(), &clock).await;
    assert_eq!(store.messages(&id, seq(1), seq(9)).await.unwrap().len(), 1);
    assert_eq!(store.read_arrays(&id, &[seq(5)]).await.unwrap()[0].readers(), uids(1, 40));
    store.probe().await.unwrap();
}

#[tokio::test]
async fn a_closed_engine_is_an_error_that_loses_no_record() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::default());
    let engine = engine(directory.path());
    let store = EmbeddedStore::open(engine.clone(), Arc::new(move || clock.now())).await.unwrap();
    engine.close().await.unwrap();
    let id = ConversationId::new("c10").unwrap();
    for error in [
        store.raise_head(&id, seq(1)).await.unwrap_err(),
        store.conversation(&id).await.unwrap_err(),
        store.probe().await.unwrap_err(),
    ] {
        assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
        assert!(error.at.contains("store.redb"), "{error}");
    }
    let error = store.raise_head(&id, seq(1)).await.unwrap_err();
    assert!(error.at.contains("conversations c10"), "{error}");
}

/// Sweeps until nothing is left to do; says what went, and in how many sweeps.
async fn sweep_all(store: &EmbeddedStore, now: TimeMs, limit: usize) -> (Swept, usize) {
    let mut all = Swept::default();
    for sweeps in 1..1_000 {
        let swept = store.sweep(now, limit).await.unwrap();
        assert!(swept.messages + swept.chunks <= limit, "{swept:?} with limit {limit}");
        all.messages += swept.messages;
        all.chunks += swept.chunks;
        if !swept.more {
            return (all, sweeps);
        }
    }
    panic!("sweeping does not end: {all:?}");
}

#[tokio::test]
async fn sweeping_takes_what_has_expired_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::default());
    let store = open(directory.path(), &clock).await;
    let start = clock.now();
    let (id, other) = (ConversationId::new("c").unwrap(), ConversationId::new("c1").unwrap());
    for n in 1..=200 {
        write(&store, &id, n, start.plus_ms(HOUR_MS), 2).await;
    }
    write(&store, &id, 201, start.plus_ms(100 * HOUR_MS), 2).await;
    write(&store, &other, 1, start.plus_ms(100 * HOUR_MS), 2).await;
    let skipped = MessageFlags { skipped: true, ..MessageFlags::default() };
    store.add_flags(&id, &[(seq(1), skipped)]).await.unwrap();

    assert_eq!(sweep_all(&store, start, 10).await.0, Swept::default(), "nothing has expired yet");
    clock.advance_ms(3 * HOUR_MS).await;
    let (swept, sweeps) = sweep_all(&store, clock.now(), 64).await;
    assert_eq!(swept, Swept { messages: 200, chunks: 400, more: false });
    assert!(sweeps >= 600 / 64, "{sweeps} sweeps of at most 64 rows");
    assert_eq!(sweep_all(&store, clock.now(), 64).await.0, Swept::default(), "a second time");

    let left = store.messages(&id, seq(1), seq(1_000)).await.unwrap();
    assert_eq!(left.iter().map(|message| message.seq).collect::<Vec<_>>(), [seq(201)]);
    assert_eq!(store.read_arrays(&id, &[seq(201)]).await.unwrap()[0].readers(), uids(1, 40));
    assert_eq!(store.read_arrays(&other, &[seq(1)]).await.unwrap()[0].readers(), uids(1, 40));
    assert_eq!(store.flags(&id, seq(1), seq(1), 1).await.unwrap(), [(seq(1), skipped)]);

    clock.advance_ms(100 * HOUR_MS).await;
    let swept = sweep_all(&store, clock.now(), 64).await.0;
    assert_eq!(swept, Swept { messages: 2, chunks: 4, more: false });
}

#[tokio::test]
async fn a_message_written_anew_survives_the_sweep_of_its_old_life() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::default());
    let store = open(directory.path(), &clock).await;
    let id = ConversationId::new("c").unwrap();
    write(&store, &id, 1, clock.now().plus_ms(HOUR_MS), 1).await;
    clock.advance_ms(3 * HOUR_MS).await;
    write(&store, &id, 1, clock.now().plus_ms(HOUR_MS), 1).await;
    assert_eq!(sweep_all(&store, clock.now(), 10).await.0, Swept::default());
    assert_eq!(store.messages(&id, seq(1), seq(1)).await.unwrap().len(), 1);
    clock.advance_ms(3 * HOUR_MS).await;
    assert_eq!(sweep_all(&store, clock.now(), 10).await.0, Swept { messages: 1, chunks: 1, more: false });
}

#[tokio::test]
async fn a_value_that_cannot_be_decoded_is_named_and_stops_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::default());
    let engine = engine(directory.path());
    let store = EmbeddedStore::open(engine.clone(), Arc::new(move || clock.now())).await.unwrap();
    let (id, other) = (ConversationId::new("bad").unwrap(), ConversationId::new("good").unwrap());
    store.raise_head(&other, seq(3)).await.unwrap();
    let damage =
        |txn: &WriteTransaction| SealedTable::new("conversations").write(txn)?.put(b"bad\0", &[1, 2, 3]);
    engine.write("damage", damage).await.unwrap();
    for error in
        [store.conversation(&id).await.unwrap_err(), store.raise_head(&id, seq(9)).await.unwrap_err()]
    {
        assert_eq!(error.kind, StoreErrorKind::Corrupt, "{error}");
        let text = error.to_string();
        assert!(text.contains("conversations bad") && text.contains("62616400"), "{text}");
    }
    assert_eq!(store.conversation(&other).await.unwrap().unwrap().head, seq(3));
    store.raise_head(&other, seq(4)).await.unwrap();
}

#[tokio::test]
async fn opening_a_known_store_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::default());
    drop(open(directory.path(), &clock).await);
    let engine = engine(directory.path());
    let store = EmbeddedStore::open(engine.clone(), Arc::new(move || clock.now())).await.unwrap();
    assert_eq!(engine.counts().jobs_total, 0, "so that a store on a full disk can be opened and read");
    assert_eq!(store.conversation(&ConversationId::new("c").unwrap()).await.unwrap(), None);
}

/// A file that an older program made lacks the newest table.
#[tokio::test]
async fn a_table_that_is_new_is_made_in_an_older_file() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::default());
    let store = open(directory.path(), &clock).await;
    let id = ConversationId::new("c").unwrap();
    store.raise_head(&id, seq(3)).await.unwrap();
    drop(store);
    let older = engine(directory.path());
    let table = readmark_embedded::redb::TableDefinition::<&[u8], &[u8]>::new("dead_letter_state");
    let was_there =
        older.write("age", move |txn: &WriteTransaction| Ok(txn.delete_table(table)?)).await.unwrap();
    assert!(was_there);
    older.close().await.unwrap();
    let store = open(directory.path(), &clock).await;
    assert_eq!(store.resolutions(0, 0, 9, 9).await.unwrap(), []);
    assert_eq!(store.conversation(&id).await.unwrap().unwrap().head, seq(3));
}

#[tokio::test]
async fn a_message_without_readers_and_readers_without_message_are_swept() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::default());
    let store = open(directory.path(), &clock).await;
    let (with_message, with_readers) = (ConversationId::new("m").unwrap(), ConversationId::new("r").unwrap());
    write_message(&store, &with_message, 1, clock.now().plus_ms(HOUR_MS)).await;
    add_readers(&store, &with_readers, 1, clock.now().plus_ms(HOUR_MS), 1).await;
    clock.advance_ms(3 * HOUR_MS).await;
    let swept = sweep_all(&store, clock.now(), 10).await.0;
    assert_eq!(swept, Swept { messages: 1, chunks: 1, more: false });
}
