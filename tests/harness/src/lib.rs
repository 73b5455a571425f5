//! Starts the real `readmark` and talks to it over its public faces only: HTTP, the operator's socket, the
//! process. It shares no rule with the product: what the tests expect comes from the documents. Only the log of
//! a server that has ended is read by the product's own reader ([`offline`]).
//!
//! Everything here panics when it can't go on: it serves tests, and a panic is how a test fails.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

mod binary;
mod caller;
mod compare;
pub mod device;
mod http;
mod kills;
pub mod load;
pub mod metrics;
pub mod offline;
pub mod oracle;
mod output;
mod reply;
mod server;
mod socket;
pub mod token;
mod wait;

pub use binary::binary;
pub use caller::Caller;
pub use compare::{wait_for_answers, wait_for_devices};
pub use kills::while_killing;
pub use reply::Reply;
pub use server::{DataDir, Options, Server, Start};
pub use socket::{PartitionEnds, TopicRecord};
pub use wait::{DEADLINE, wait_until};

/// Milliseconds since 1970, now.
#[must_use]
pub fn now_ms() -> u64 {
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(since_1970.expect("the clock is after 1970").as_millis()).expect("fits 64 bits")
}
