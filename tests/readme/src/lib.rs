//! Runs the commands that the README shows, and compares what they print: see `tests/`.
