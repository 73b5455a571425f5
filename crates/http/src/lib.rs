//! What readmark's HTTP roles share.
//!
//! A role hands in a [`axum::Router`] of its `/v1` calls; [`app`] puts around it, from the outside in:
//! metrics, CORS, load shedding, a time limit, the bearer token, the user's rate limit. Every error is a
//! [`Problem`].

mod app;
pub mod auth;
mod bearer;
mod decimal;
mod extract;
mod limits;
mod metrics;
mod openapi;
mod operation;
mod problem;
mod server;
mod settings;
mod sure;

pub use app::{AppParts, app, parse_origin};
pub use decimal::Decimal;
pub use extract::{
    ConversationPath, Device, Json, MAX_BODY_BYTES, MessagePath, Params, Service, Session, User, Viewer,
    parse_body, parse_item, parse_items,
};
pub use limits::{Allowance, Limiter, RateLimit};
pub use metrics::HttpMetrics;
pub use openapi::{openapi, schema_of};
pub use operation::{Check, OperationParts};
pub use problem::{Item, Kind, Problem, ProblemBody};
pub use server::serve;
pub use settings::{AuthSettings, HttpSettings};
pub use sure::{Sure, Wait};
