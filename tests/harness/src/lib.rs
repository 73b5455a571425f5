//! Starts the real `readmark`, on embedded or on full parts, in one process or in many, and talks to it over its
//! public faces only: HTTP, topics, the process. It shares no rule with the product: what the tests expect comes from
//! the documents. Only topics are read by the product's own adapters, where no process hands them out.
//!
//! Everything here panics when it can't go on: it serves tests, and a panic is how a test fails.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

mod beacons;
mod binary;
mod caller;
mod compare;
pub mod device;
mod full;
mod http;
mod kills;
mod live;
pub mod load;
pub mod metrics;
mod offline;
mod operator;
mod options;
pub mod oracle;
mod output;
mod own_process;
mod picture;
mod positions;
mod process;
mod reply;
mod server;
mod socket;
pub mod token;
mod topic_record;
mod topics;
mod uptime;
mod wait;

pub use beacons::Beacons;
pub use binary::binary;
pub use caller::Caller;
pub use compare::{wait_for_answers, wait_for_devices};
pub use full::CONSUMING_ROLES;
pub use kills::while_killing;
pub use live::LiveDevice;
pub use operator::Operated;
pub use options::{DataDir, Options, Parts, ServiceSet};
pub use own_process::{OwnProcess, command, signal};
pub use picture::{Picture, Told};
pub use process::{Process, Start};
pub use readmark_test_services::{Part, Services};
pub use reply::Reply;
pub use rustix::process::Signal;
pub use server::Server;
pub use topic_record::{PartitionEnds, TopicRecord};
pub use uptime::Uptime;
pub use wait::{DEADLINE, wait_until, wait_while_moving};

/// Milliseconds since 1970, now.
#[must_use]
pub fn now_ms() -> u64 {
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(since_1970.expect("the clock is after 1970").as_millis()).expect("fits 64 bits")
}
