//! The janitor role: dead letters are delivered again by a schedule, and buried when that does not help.
//!
//! It consumes the dead letters. A letter holds its offset until it is delivered again, dropped by an operator, or
//! buried. When one is due: (1) read what was done about it meanwhile, (2) deliver it to where it comes from, and
//! wait until that is durable, (3) note that, (4) let its offset go. Cut off in between it is delivered twice, which
//! every consumer merges. What fails again is a letter of its own, with one attempt more.
//!
//! Letters of one record and role are one matter, however many there are: two janitors that did not know of each other,
//! or a crash, may have made several. They are delivered again once.

mod buried;
mod metrics;
mod open;
mod role;
mod round;

pub use metrics::JanitorMetrics;
pub use role::Janitor;
