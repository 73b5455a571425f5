//! The gateway role: takes what the IM backend and its readers say, checks it and writes it to the log.
//!
//! 202 means that every record is durable. Nothing is refused on what the store does not know *yet*: before
//! a refusal the catalog must have applied what the log held.

mod append;
mod event;
mod flag;
pub mod live;
mod messages;
mod order;
mod plan;
mod route;
mod settings;
mod standing;
mod state;

pub use route::{openapi, routes};
pub use settings::GatewaySettings;
pub use state::Gateway;
