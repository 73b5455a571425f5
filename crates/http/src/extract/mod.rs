//! What handlers take: callers by scope, JSON bodies, paths and queries, each with its own problem.

mod body;
mod caller;
mod strict;
mod target;

pub use body::{Json, MAX_BODY_BYTES, parse_body, parse_item, parse_items};
pub use caller::{Device, Service, Session, User, Viewer};
pub use target::{ConversationPath, MessagePath, Params};
