//! The HTTP calls at their router: store and hot state in memory, a log that does as it is told, a clock that jumps.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "tests")]

mod api;
mod away;
mod away_hot;
mod clock;
mod log;
mod seed;

pub use api::{Answer, Api, Token};
pub use away::AwayStore;
pub use away_hot::AwayHot;
pub use clock::TokioClock;
pub use log::{Mood, ScriptedLog};
pub use seed::{NOW_MS, Seed, conversation, message, seq, uid};
