//! Repair by redelivery: facts are produced again, with a header that says so. Every consumer merges, so that what had
//! been counted stays counted once, and whatever is interrupted may be repeated.
//!
//! [`replay`] delivers a stretch of a topic again; [`letters`] lists dead letters, delivers them again or drops them.
//! Both run on the ports alone: within a running process, or on parts that a command has opened.

mod error;
mod extent;
mod filter;
mod letter;
pub mod letters;
mod named;
mod pace;
pub mod replay;
mod source;

pub use error::RepairError;
pub use extent::Stretch;
pub use filter::Filter;
pub use letter::Letter;
pub use pace::Rate;
