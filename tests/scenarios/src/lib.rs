//! Faults that other systems had, as data files with the right outcome, and the one runner that plays them to the real
//! `readmark`, on every set of parts. `data/README.md` explains the files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

mod answers;
mod calls;
mod devices;
mod events;
pub mod files;
pub mod format;
mod matching;
mod names;
mod parts;
mod processes;
mod redis;
mod report;
mod run;
mod settle;
mod shown_by;
mod stage;
mod told;
mod topics;
mod watches;
mod world;
mod zombie;

pub use parts::Parts;
pub use report::main;

use std::time::Duration;

/// How long a step waits for what should take milliseconds: many scenarios share two cores, and nothing is gained by
/// giving up early.
const DEADLINE: Duration = Duration::from_secs(180);
