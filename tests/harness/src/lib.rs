//! Starts the real readmark and talks to it, for the tests.
