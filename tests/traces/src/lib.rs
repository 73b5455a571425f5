//! Plays two hours of a busy public channel to the real `readmark` over HTTP and compares every N/M and every
//! unread count with what must be answered.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

mod check;
mod crowd;
mod exact;
mod player;
mod replayed;
mod trace;

pub use crowd::Crowd;
pub use exact::{check, exact, exact_while_killed, play_both};
pub use player::{Play, Reads};
pub use replayed::exact_after_replays;
pub use trace::{Expected, ExpectedMessage, Kind, Step, Trace};
