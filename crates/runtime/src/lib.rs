//! What readmark's roles share: time, the ports, the consumer loop, retry, parking, dead letters, telemetry.

pub mod at_once;
pub mod clock;
pub mod consume;
pub mod dead_letter;
pub mod lag;
pub mod metrics;
pub mod parking;
pub mod ports;
pub mod progress;
pub mod recount;
pub mod retry;
pub mod role;
pub mod telemetry;
