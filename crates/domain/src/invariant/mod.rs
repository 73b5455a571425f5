//! The invariants RR-1 … RR-10.
