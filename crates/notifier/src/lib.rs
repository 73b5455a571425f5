//! The notifier role: what the catalog has applied and what readers and senders must learn of in, users' hot states
//! told.
//!
//! It reads conversation-changed and read-changed, so only what is in the store already. Facts of a conversation are
//! merged in a window, and then told to each member that is present; facts of one user are told at once. The offset
//! goes when all states have merged them and nothing is left to be counted, so a crash repeats work and loses no
//! entry: a state drops what it has already.

mod absorb;
mod continuity;
mod fan_out;
mod groups;
mod metrics;
mod reads;
mod role;
mod said;
mod tell;
mod windows;

pub use metrics::NotifierMetrics;
pub use role::Notifier;
