//! Dead letters: listed, shown, delivered again, dropped.

mod act;
mod list;
mod scan;
mod selection;

pub use act::{Acted, Action, Ended, act};
pub use list::{Listed, list};
pub use scan::Seen;
pub use selection::Selection;
