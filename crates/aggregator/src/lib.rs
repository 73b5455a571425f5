//! The aggregator role: acks in, read arrays written, senders told N/M.
//!
//! Receipts are merged in a window per sender and conversation. A flush (1) adds to the read arrays,
//! (2) counts with a roster read after the message, (3) produces a message_read for every message touched,
//! changed or not, and (4) lets the offsets go. A crash at any point repeats work and loses no announcement.

mod absorb;
mod flush;
mod knowledge;
mod metrics;
mod parked;
mod role;
mod window;

pub use metrics::AggregatorMetrics;
pub use role::Aggregator;
