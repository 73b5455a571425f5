//! What is kept hot per user: the registers behind the red dots, their totals, the sync stream and the tallies
//! last told. Everything here can be rebuilt from the store, and a miss is never read as zero (RR-10).
//!
//! [`User`] is one user's state and every operation on it, as a pure value: what an adapter of the port
//! `HotState` must do, step by step. Operations merge, so they may come in any order and any number of times.
//! An operation that changes what devices see appends entries with absolute values to the user's stream; one that
//! changes nothing appends nothing (RR-6).

mod change;
mod counted;
mod entry;
mod message_count;
mod registers;
mod row;
mod tally;
mod token;
mod user;

pub use change::{Cause, Change, GreatestSeqs, SAID_MAX, SEQS_MAX};
pub use counted::{CountRange, Counted};
pub use entry::{Entry, News};
pub use message_count::MessageCount;
pub use registers::{Merged, Registers};
pub use row::Row;
pub use tally::{TALLIES_MAX, Tallies, TallyChange};
pub use token::{Epoch, EpochError, SyncToken, SyncTokenError, Version};
pub use user::{Applied, Completed, Picture, PictureRow, STREAM_ENTRIES, Synced, User};
