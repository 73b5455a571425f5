//! Plays two hours of a busy public channel to the real `readmark` over HTTP and compares every N/M and every
//! unread count with what must be answered.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

mod check;
mod player;
mod trace;

pub use check::{KILL_EVERY, check_answers, check_devices, wait_for_devices};
pub use player::{Play, Reads, play};
pub use trace::{Expected, ExpectedMessage, Kind, Step, Trace};
