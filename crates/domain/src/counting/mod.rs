//! Who counts, and how many of them have read: one pure function, used by pushes, queries and audits alike.

mod member;
mod message;
mod roster;
mod tally;

pub use member::Member;
pub use message::{Message, MessageFlags};
pub use roster::Roster;
pub use tally::{Tally, TallyVersion, TallyVersionError, lists};
