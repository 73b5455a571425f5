//! The query role: who has read a message, and what a user has unread.
//!
//! Every answer is computed from rows read for it; only conversations of more than 5,000 members are
//! answered from rows up to 30 s old, and say so.

mod access;
mod large;
mod route;
mod seen;
mod settings;
mod state;
pub mod unread;

pub use route::{openapi, routes};
pub use settings::{DetailsVisibleTo, QuerySettings};
pub use state::Query;
