//! The conformance suite on a CQL server, and what is its own: the schema, the traps of write timestamps, lost
//! answers. Each run makes a keyspace of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod bad_answers;
mod kinds;
mod lost_answers;
mod proxy;
mod registers;
mod schema;
mod server;
mod writes;

use readmark_store::conformance::Subject;
use std::sync::Arc;

async fn subject(_: u32) -> Subject {
    let store = server::open().await;
    // The groups run beside each other in one keyspace.
    Subject::new(Arc::new(store), Arc::new(server::SystemClock), server::next_tag(), ())
}

readmark_store::receipt_store_conformance!(subject);
