//! Dead letters: which is which, what became of each, and when one is delivered again.

mod letter_id;
mod resolution;
mod schedule;

pub use letter_id::{LetterId, LetterIdError};
pub use resolution::{Actor, LetterState, Outcome, Resolution};
pub use schedule::{Failure, MAX_REDELIVERIES, Step, next_step};
