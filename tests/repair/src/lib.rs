//! The roles that consume, in one process, on an embedded log and a store in memory, with a clock that the test turns.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

mod clock;
mod facts;
mod running;
mod world;

pub use clock::DrivenClock;
pub use facts::{ack, id, joined, mark, message, seq, uid};
pub use running::{Running, Which};
pub use world::World;
