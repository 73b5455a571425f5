//! The live side of the real program: connections, sync streams, and what devices show.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod bad_frames;
mod client;
mod closings;
mod common;
mod following;
mod handshake;
mod parts_away;
mod random_life;
mod requests;
