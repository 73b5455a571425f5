//! The catalog role: conversation events in, messages, roster and heads written, and what changed told on.
//!
//! Per record: (1) write; (2) produce conversation-changed; (3) when it changed who counts, produce
//! recounts; (4) store the offset. A record may be handled twice, and by two owners at once: every write is
//! a merge, and what is told is what was read back.

mod batch;
mod fact;
mod group_size;
mod late;
mod members;
mod messages;
mod metrics;
mod recounts;
mod role;
mod settings;
mod step;
mod tools;

pub use metrics::CatalogMetrics;
pub use role::Catalog;
