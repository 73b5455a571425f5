//! What every adapter of the port must do, as tests that any of them can run.
//!
//! Cases are run on subjects, each a hot state that nobody else uses. In the tests of an adapter, with `my_subject` an
//! `async fn() -> Box<dyn Subject>`:
//!
//! ```text
//! async fn run(group: &Group) {
//!     conformance::run(group, my_subject).await;
//! }
//! readmark_hot::hot_state_conformance!(run);
//!
//! #[tokio::test(flavor = "multi_thread")]
//! async fn differential() {
//!     conformance::run_differential(my_subject).await;
//! }
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "a test suite, compiled only for tests: a panic is how a case fails"
)]

mod concurrency;
mod differential;
mod fan_out;
mod generator;
mod hands;
mod loss;
mod numbers;
mod rebuild;
mod rows;
mod stream;
mod subject;
mod tallies;
mod wakeups;

pub use differential::differential;
pub use subject::{Loss, Subject};

use std::future::Future;
use std::pin::Pin;

type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One promise of the port.
pub struct Case {
    name: &'static str,
    run: fn(Box<dyn Subject>) -> Running,
}

/// The cases of one group.
pub struct Group {
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

/// What is seen of conversations, and the totals.
pub const ROWS: Group = Group { name: "rows", cases: rows::CASES };
/// Numbers in place of too many seqs.
pub const NUMBERS: Group = Group { name: "numbers", cases: numbers::CASES };
/// How a state comes to be, and goes.
pub const REBUILD: Group = Group { name: "rebuild", cases: rebuild::CASES };
/// Entries, tokens, what is kept.
pub const STREAM: Group = Group { name: "stream", cases: stream::CASES };
/// What senders are told.
pub const TALLIES: Group = Group { name: "tallies", cases: tallies::CASES };
/// Subscribers.
pub const WAKEUPS: Group = Group { name: "wakeups", cases: wakeups::CASES };
/// Calls for many users.
pub const FAN_OUT: Group = Group { name: "fan_out", cases: fan_out::CASES };
/// Many callers at once.
pub const CONCURRENCY: Group = Group { name: "concurrency", cases: concurrency::CASES };
/// Scripts, states and servers that are lost.
pub const LOSS: Group = Group { name: "loss", cases: loss::CASES };

/// Runs every case of a group, each on a subject of its own.
///
/// # Panics
/// When a case fails.
pub async fn run<F>(group: &Group, mut subject: impl FnMut() -> F)
where
    F: Future<Output = Box<dyn Subject>>,
{
    for case in group.cases {
        println!("hot state conformance: {}::{}", group.name, case.name);
        (case.run)(subject().await).await;
    }
}

/// Seeds of the differential test.
pub const DIFFERENTIAL_SEEDS: std::ops::Range<u64> = 0..16;
/// Operations for each seed.
pub const DIFFERENTIAL_OPERATIONS: usize = 250;

/// The differential test over [`DIFFERENTIAL_SEEDS`].
///
/// # Panics
/// At the first answer that differs, with its seed.
pub async fn run_differential<F>(mut subject: impl FnMut() -> F)
where
    F: Future<Output = Box<dyn Subject>>,
{
    for seed in DIFFERENTIAL_SEEDS {
        differential(subject().await, seed, DIFFERENTIAL_OPERATIONS).await;
    }
}

/// A test for each group, run by an `async fn(&Group)`. The crate that uses it needs `tokio` with `macros` and
/// `rt-multi-thread`.
#[macro_export]
macro_rules! hot_state_conformance {
    ($run:path) => {
        $crate::hot_state_conformance!(@ $run;
            rows ROWS, numbers NUMBERS, rebuild REBUILD, stream STREAM, tallies TALLIES, wakeups WAKEUPS,
            fan_out FAN_OUT, concurrency CONCURRENCY, loss LOSS);
    };
    (@ $run:path; $($name:ident $group:ident),+) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                $run(&$crate::conformance::$group).await;
            }
        )+
    };
}
