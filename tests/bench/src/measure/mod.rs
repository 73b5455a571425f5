//! The measurements: one file each.

pub mod aggregate;
pub mod aggregate_full;
pub mod latency;
pub mod push;
pub mod read_changed;
pub mod sockets;
pub mod unread;
