//! The watermark role: what users say about themselves in, their registers raised, "read up to" expanded.
//!
//! It consumes acks (those of origin client, which raise the reader's watermark) and marks. A mark
//! (1) writes read and claimed, reads the row back and tells it, (2) expands into acks along the buckets, in
//! bounded steps, (3) waits until they are in the log, (4) writes receipted, (5) lets its offset go.

mod absorb;
mod change;
mod expansion;
mod metrics;
mod parcel;
mod plan;
mod role;
mod settings;
mod tools;

pub use metrics::WatermarkMetrics;
pub use role::Watermark;
