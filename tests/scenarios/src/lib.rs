//! Faults that were reported of other systems, each as a data file with the right outcome, and the one runner
//! that plays them to the real `readmark`. `data/README.md` explains the files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

mod answers;
mod calls;
mod events;
pub mod files;
pub mod format;
mod names;
mod run;
mod settle;
mod told;
mod world;

pub use run::run;
