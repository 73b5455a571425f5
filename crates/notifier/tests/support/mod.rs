//! The roles on parts in memory, driven by hand: what is said goes through catalog, watermark, aggregator and
//! notifier to devices that follow their user's stream.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may stop at what is impossible"
)]
#![allow(dead_code, reason = "not every test uses all of it")]

mod clock;
mod device;
mod facts;
mod hot;
mod log;
mod world;

pub use device::Device;
pub use facts::*;
pub use world::World;
