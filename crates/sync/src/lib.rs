//! Everything between hot state and store.
//!
//! The hot state merges what it is told and never reads the store. Whoever tells it something does that by way of
//! this crate: [`apply_until_counted`] counts what a state can't know, [`whole_change`] reads what it must be told
//! when it knows nothing.

mod apply;
mod count;
mod error;
mod whole;

pub use apply::{Told, apply_until_counted};
pub use count::count;
pub use error::SyncError;
pub use whole::{whole_change, whole_of};
