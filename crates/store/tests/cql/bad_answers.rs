//! A server that refuses, fails, is overloaded or does not answer: each kind of answer has its disposition, for writes and
//! reads alike, and nothing of it outlasts the trouble.

use crate::kinds::{KINDS, Kind, write};
use crate::proxy::{Fault, Proxy};
use crate::server::{config, contact_points, keyspace, now, open_with};
use crate::writes::seq;
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_store::cql::{CqlConfig, CqlStore};
use readmark_store::{
    ConversationStore, MemberStore, MessageStore, ReadArrayStore, ReceiptStore, StoreError, StoreErrorKind,
    UserStore,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

const FOR_GOOD: u32 = 1_000;
const REQUEST_TIMEOUT_MS: u64 = 700;
/// A call makes a few requests, each of which ends within its time; and this machine is busy.
const SOON: Duration = Duration::from_secs(20);

async fn proxied() -> (CqlConfig, Proxy) {
    let proxy = Proxy::start(contact_points().remove(0)).await;
    let config = CqlConfig {
        contact_points: vec![proxy.address.to_string()],
        request_timeout_ms: REQUEST_TIMEOUT_MS,
        ..config(keyspace().await)
    };
    (config, proxy)
}

/// A read of each table.
async fn read(store: &CqlStore, id: &ConversationId) -> Vec<Result<(), StoreError>> {
    let uid = Uid::new(5).unwrap();
    vec![
        store.conversation(id).await.map(drop),
        store.buckets(id, 0, 9, 9).await.map(drop),
        store.messages(id, Seq::ZERO, seq(127)).await.map(drop),
        store.flags(id, Seq::ZERO, Seq::LAST, 10).await.map(drop),
        store.mentions(uid, id, Seq::ZERO, Seq::LAST, 10).await.map(drop),
        store.read_arrays(id, &[seq(1)]).await.map(drop),
        store.members(id).await.map(drop),
        store.members_of(id, &[uid]).await.map(drop),
        store.user_conversation(uid, id).await.map(drop),
        store.user_conversations(uid, None, 10).await.map(drop),
        store.user_switches(uid).await.map(drop),
        store.probe().await,
    ]
}

const ANSWERS: [(Fault, StoreErrorKind); 12] = [
    (Fault::Overloaded, StoreErrorKind::Unavailable),
    (Fault::Unavailable, StoreErrorKind::Unavailable),
    (Fault::Bootstrapping, StoreErrorKind::Unavailable),
    (Fault::ServerError, StoreErrorKind::Unavailable),
    (Fault::ReadTimeout, StoreErrorKind::Unavailable),
    (Fault::ReadFailure, StoreErrorKind::Unavailable),
    (Fault::WriteFailure, StoreErrorKind::Unavailable),
    (Fault::Hangup, StoreErrorKind::Unavailable),
    // No record is buried because a right was taken away for a while.
    (Fault::Unauthorized, StoreErrorKind::Unavailable),
    (Fault::Invalid, StoreErrorKind::Refused),
    (Fault::SyntaxError, StoreErrorKind::Refused),
    (Fault::Garbage, StoreErrorKind::Corrupt),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_has_its_disposition() {
    let (config, proxy) = proxied().await;
    let store = open_with(&config).await;
    for (fault, kind) in ANSWERS {
        let id = ConversationId::new(&format!("bad {fault:?}")).unwrap();
        proxy.lose(fault, FOR_GOOD);
        let mut failed: Vec<(String, Result<(), StoreError>)> = Vec::new();
        // A hang-up is told apart from none only by time: a few calls show it.
        let kinds = if fault == Fault::Hangup { &KINDS[..3] } else { &KINDS[..] };
        for kind in kinds {
            failed.push((format!("{kind:?}"), write(&store, *kind, &id).await));
        }
        failed.extend(read(&store, &id).await.into_iter().map(|answer| ("read".to_owned(), answer)));
        proxy.heal();
        for (call, answer) in failed {
            let error = answer.expect_err("a bad answer");
            // Over connections that were just cut.
            let is_cut = fault == Fault::Hangup && error.is_retryable();
            assert!(error.kind == kind || is_cut, "{fault:?} to {call}: {error}");
        }
        heals(&store, &id).await;
    }
}

/// The first calls may still meet a connection that was cut.
async fn heals(store: &CqlStore, id: &ConversationId) {
    let start = Instant::now();
    while let Err(error) = store.raise_head(id, seq(90)).await {
        assert!(error.is_retryable() && start.elapsed() < SOON, "{error}");
    }
    assert_eq!(store.conversation(id).await.unwrap().map(|one| one.head), Some(seq(90)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_never_answered_ends_within_its_time() {
    let (config, proxy) = proxied().await;
    let store = open_with(&config).await;
    let id = ConversationId::new("never answered").unwrap();
    proxy.lose(Fault::Silence, FOR_GOOD);
    let start = Instant::now();
    let write = write(&store, Kind::Head, &id).await.unwrap_err();
    let read = store.conversation(&id).await.unwrap_err();
    assert!(start.elapsed() < SOON, "after {:?}", start.elapsed());
    assert!(start.elapsed() >= Duration::from_millis(2 * REQUEST_TIMEOUT_MS), "after {:?}", start.elapsed());
    for error in [write, read] {
        assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
    }
    proxy.heal();
    heals(&store, &id).await;
}

/// Trouble while the store is being opened: it is waited for, or says what to do.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_can_not_be_opened_says_whether_waiting_helps() {
    let (config, proxy) = proxied().await;
    for (fault, kind) in [
        (Fault::Overloaded, StoreErrorKind::Unavailable),
        (Fault::Unavailable, StoreErrorKind::Unavailable),
        (Fault::Unauthorized, StoreErrorKind::Refused),
    ] {
        proxy.lose(fault, FOR_GOOD);
        let error = CqlStore::open(&config, Arc::new(now)).await.unwrap_err();
        proxy.heal();
        assert_eq!(error.kind, kind, "{fault:?}: {error}");
        CqlStore::open(&config, Arc::new(now)).await.unwrap();
    }
}
