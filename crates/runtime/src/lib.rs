//! What readmark's roles share: time, the ports, the consumer loop, retry, shutdown and telemetry.

pub mod clock;
pub mod ports;
