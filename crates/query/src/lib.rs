//! The query role: who has read a message, what a user has unread, and what follows a token.
//!
//! Tallies are computed from rows read for each answer; only those of conversations of more than 5,000 members from
//! rows up to 30 s old, and they say so. Unread comes from the hot state, or from the store while that is away.

mod access;
mod failure;
mod large;
mod limit;
mod route;
mod seen;
mod settings;
mod snapshot;
mod state;
mod whose;

pub use failure::problem;
pub use route::{openapi, routes};
pub use settings::{DetailsVisibleTo, QuerySettings};
pub use snapshot::Snapshot;
pub use state::Query;
