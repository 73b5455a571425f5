//! Devices on real connections. [`Wire`] is one WebSocket, as bare as a test needs it; [`Device`] is what a device shows,
//! kept by the rules of `docs/clients.md` and by none of the product's code, and a check of all that it is sent;
//! [`Phone`] keeps one connected, also through a [`Proxy`] that cuts; [`Follower`] is the Rust client; [`life`] is random traffic with devices that follow.
//!
//! Everything here panics when it can't go on: a panic is how a test fails.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

mod device;
mod group;
pub mod life;
mod phone;
mod proxy;
mod redis;
mod session;
mod wire;

pub use device::{Device, Place, Row};
pub use group::{joined, message, sent};
pub use phone::{Phone, World};
pub use proxy::Proxy;
pub use redis::Redis;
pub use session::Follower;
pub use wire::{Heard, Refused, Wire};
