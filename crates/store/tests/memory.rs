//! The conformance suite on the store in memory.

use readmark_store::conformance::{self, Group, ManualClock, Subject, SuiteClock};
use readmark_store::memory::MemoryStore;
use std::sync::Arc;

async fn subject(tag: u32) -> Subject {
    let clock = Arc::new(ManualClock::default());
    let of_store = Arc::clone(&clock);
    let store = MemoryStore::new(Arc::new(move || of_store.now()));
    Subject::new(Arc::new(store), clock, tag, ())
}

async fn run(group: &Group) {
    conformance::run(group, subject).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations() {
    run(&conformance::CONVERSATIONS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages() {
    run(&conformance::MESSAGES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn buckets() {
    run(&conformance::BUCKETS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn flags() {
    run(&conformance::FLAGS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mentions() {
    run(&conformance::MENTIONS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn read_arrays() {
    run(&conformance::READ_ARRAYS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members() {
    run(&conformance::MEMBERS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn users() {
    run(&conformance::USERS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn expiry() {
    run(&conformance::EXPIRY).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ids() {
    run(&conformance::IDS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large() {
    run(&conformance::LARGE).await;
}
