//! Kills, stops and starts the real `readmark`. What is shared by the tests beside it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

pub mod namespace;
pub mod raw;
