//! Everything between hot state, store and whoever serves devices.
//!
//! * The hot state merges what it is told and never reads the store. Whoever tells it something does that by way of
//!   this crate: [`apply_until_counted`] counts what a state can't know, [`whole_change`] reads what it must be told
//!   when it knows nothing.
//! * Whoever serves devices reads by way of [`Live`]: a state that is not there is rebuilt, large conversations are
//!   looked at first, and while the hot state is away the answer is computed from the store.

mod apply;
mod count;
mod derived;
mod error;
mod fill;
mod flights;
mod large;
mod live;
mod metrics;
mod pace;
mod rebuild;
mod settings;
mod timed;
mod user;
mod whole;

pub use apply::{Told, apply_until_counted};
pub use count::count;
pub use derived::{derived_numbers, derived_picture, derived_token};
pub use error::SyncError;
pub use fill::{Filled, count_missing, fill};
pub use live::{Followed, Live, News};
pub use settings::LiveSettings;
pub use timed::TimedHot;
pub use whole::{whole_change, whole_of};
