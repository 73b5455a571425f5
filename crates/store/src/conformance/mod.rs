//! What every adapter of the port must do, as tests that any of them can run.
//!
//! Cases are run on subjects, each a store on which the ids of that subject have never been used. In the tests
//! of an adapter, with `my_subject` an `async fn(tag: u32) -> Subject`:
//!
//! ```text
//! readmark_store::receipt_store_conformance!(my_subject);
//! ```
//!
//! Durations of the expiry cases are short enough for a clock that can only be waited for, and allow an
//! adapter that keeps whole seconds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test suite, compiled only for tests: a panic is how a case fails"
)]

mod bucket_store;
mod conversation_store;
mod dead_letter_store;
mod differential;
mod expiry;
mod flag_store;
mod ids;
mod large;
mod member_store;
mod mention_store;
mod message_store;
mod operation;
mod read_array_store;
mod subject;
mod user_store;

pub use differential::differential;
pub use subject::{ManualClock, Subject, SuiteClock};

use std::future::Future;
use std::pin::Pin;

/// One promise of the port.
pub struct Case {
    name: &'static str,
    run: fn(Subject) -> Pin<Box<dyn Future<Output = ()> + Send>>,
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
pub(crate) use cases;

/// Table `conversations`.
pub const CONVERSATIONS: Group = Group { name: "conversations", cases: conversation_store::CASES };
/// Table `messages`.
pub const MESSAGES: Group = Group { name: "messages", cases: message_store::CASES };
/// Table `buckets`.
pub const BUCKETS: Group = Group { name: "buckets", cases: bucket_store::CASES };
/// Table `uncounted`.
pub const FLAGS: Group = Group { name: "flags", cases: flag_store::CASES };
/// Table `mentions`.
pub const MENTIONS: Group = Group { name: "mentions", cases: mention_store::CASES };
/// Table `read_arrays`.
pub const READ_ARRAYS: Group = Group { name: "read_arrays", cases: read_array_store::CASES };
/// Table `members`.
pub const MEMBERS: Group = Group { name: "members", cases: member_store::CASES };
/// Tables `user_conversations` and `user_settings`.
pub const USERS: Group = Group { name: "users", cases: user_store::CASES };
/// Table `dead_letter_state`.
pub const DEAD_LETTERS: Group = Group { name: "dead_letters", cases: dead_letter_store::CASES };
/// What expires, when, and what never does.
pub const EXPIRY: Group = Group { name: "expiry", cases: expiry::CASES };
/// Unusual ids, in every table.
pub const IDS: Group = Group { name: "ids", cases: ids::CASES };
/// Large conversations.
pub const LARGE: Group = Group { name: "large", cases: large::CASES };

/// Runs every case of a group, each on a subject of its own made from the number given.
///
/// # Panics
/// When a case fails, after all have run, with the names of those that failed.
pub async fn run<F, R>(group: &Group, subject: F)
where
    F: Fn(u32) -> R,
    R: Future<Output = Subject>,
{
    assert!(!group.cases.is_empty(), "group {} has no case", group.name);
    let mut failed = Vec::new();
    let mut running = Vec::new();
    for (number, case) in (1..).zip(group.cases) {
        println!("store conformance: {}::{}", group.name, case.name);
        let subject = subject(number).await;
        let waits = !subject.clock.is_manual();
        let mut task = tokio::spawn((case.run)(subject));
        // Where time can only be waited for, all cases wait together.
        if !waits && (&mut task).await.is_err() {
            failed.push(case.name);
        } else if waits {
            running.push((case.name, task));
        }
    }
    for (name, task) in running {
        if task.await.is_err() {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "store conformance: failed in {}: {failed:?}", group.name);
}

/// Seeds of the differential test.
pub const DIFFERENTIAL_SEEDS: std::ops::Range<u32> = 0..12;
/// Calls for each seed.
pub const DIFFERENTIAL_OPERATIONS: usize = 500;

/// The differential test over [`DIFFERENTIAL_SEEDS`].
///
/// # Panics
/// At the first answer that differs, with its seed.
pub async fn run_differential<F, R>(subject: F)
where
    F: Fn(u32) -> R,
    R: Future<Output = Subject>,
{
    for seed in DIFFERENTIAL_SEEDS {
        differential(subject(seed).await, u64::from(seed), DIFFERENTIAL_OPERATIONS).await;
    }
}

/// A test for each group and the differential test, on subjects made by an `async fn(tag: u32) -> Subject`.
/// The crate that uses it needs `tokio` with `macros` and `rt-multi-thread`.
#[macro_export]
macro_rules! receipt_store_conformance {
    ($subject:path) => {
        $crate::receipt_store_conformance!(@ $subject;
            conversations CONVERSATIONS, messages MESSAGES, buckets BUCKETS, flags FLAGS, mentions MENTIONS,
            read_arrays READ_ARRAYS, members MEMBERS, users USERS,
            dead_letters DEAD_LETTERS, expiry EXPIRY, ids IDS, large LARGE);

        #[tokio::test(flavor = "multi_thread")]
        async fn differential() {
            $crate::conformance::run_differential($subject).await;
        }
    };
    (@ $subject:path; $($name:ident $group:ident),+) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                $crate::conformance::run(&$crate::conformance::$group, $subject).await;
            }
        )+
    };
}
