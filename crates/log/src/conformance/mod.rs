//! What every adapter of the port must do, as tests that any of them can run.
//!
//! A group of cases is run on subjects, each a log whose topics are empty:
//!
//! ```ignore
//! #[tokio::test(flavor = "multi_thread")]
//! async fn appending() {
//!     conformance::run(&conformance::APPENDING, || async { Box::new(MySubject::new().await) as _ }).await;
//! }
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "a test suite, compiled only for tests: a panic is how a case fails"
)]

mod appending;
mod groups;
mod hands;
mod member;
mod reading;
mod rebalance;

use crate::port::EventLog;
use async_trait::async_trait;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// A log under test.
#[async_trait]
pub trait Subject: Send + Sync {
    /// The log as it is open now.
    fn log(&self) -> Arc<dyn EventLog>;

    /// Lets go of the log and opens it again, as a restart of the process does.
    async fn reopen(&mut self);
}

type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One promise of the port.
pub struct Case {
    name: &'static str,
    run: fn(Box<dyn Subject>) -> Running,
}

/// The cases of one group.
pub struct Cases {
    name: &'static str,
    cases: &'static [Case],
}

/// Lists the cases of a file. What is not listed is dead code, so no case is forgotten in silence.
macro_rules! cases {
    ($($case:ident),+ $(,)?) => {
        pub(super) const CASES: &[super::Case] = &[
            $(super::Case { name: stringify!($case), run: |subject| Box::pin($case(subject)) }),+
        ];
    };
}
use cases;

/// Order, offsets, partitions, headers, sizes, many appenders.
pub const APPENDING: Cases = Cases { name: "appending", cases: appending::CASES };
/// Reading outside groups, bounds, time look-up, durability.
pub const READING: Cases = Cases { name: "reading", cases: reading::CASES };
/// Positions, pausing, waking, one member at a time.
pub const GROUPS: Cases = Cases { name: "groups", cases: groups::CASES };
/// Members that come, go and crash.
pub const REBALANCE: Cases = Cases { name: "rebalance", cases: rebalance::CASES };

/// Runs every case of a group, each on a subject of its own.
///
/// # Panics
/// When a case fails.
pub async fn run<F>(group: &Cases, mut subject: impl FnMut() -> F)
where
    F: Future<Output = Box<dyn Subject>>,
{
    for case in group.cases {
        println!("{}: {}", group.name, case.name);
        (case.run)(subject().await).await;
    }
}
