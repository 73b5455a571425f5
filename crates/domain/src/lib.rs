//! The pure core of readmark.
//!
//! No IO, no clock, no randomness, no async: every function here is a function of its arguments.
//! State is one of three shapes, each of which gives the same result in any order and any number of
//! times: a set that only grows, a maximum, and a register in which the greatest order key wins.

pub mod counting;
pub mod dead_letter;
pub mod fact;
pub mod hot;
pub mod id;
pub mod invariant;
pub mod read_array;
pub mod register;
pub mod seq_ranges;
pub mod time;
pub mod unread;
pub mod verdict;
pub mod window;
