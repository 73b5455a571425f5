//! Runs the tests of the clients that are not written in Rust, against the program under test.
