//! The conformance suite on the store in memory.

use readmark_store::conformance::{ManualClock, Subject, SuiteClock};
use readmark_store::memory::MemoryStore;
use std::sync::Arc;

async fn subject(tag: u32) -> Subject {
    let clock = Arc::new(ManualClock::default());
    let of_store = Arc::clone(&clock);
    let store = MemoryStore::new(Arc::new(move || of_store.now()));
    Subject::new(Arc::new(store), clock, tag, ())
}

readmark_store::receipt_store_conformance!(subject);
