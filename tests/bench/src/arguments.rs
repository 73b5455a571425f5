//! What a measurement is told, and where it runs.

use readmark_test_harness::Options;

/// A number given on the command line as `--name value`, else the default.
///
/// # Panics
/// When the value is no number.
#[must_use]
pub fn argument(name: &str, default: u64) -> u64 {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    match (arguments.next(), arguments.next()) {
        (Some(_), Some(value)) => match value.parse() {
            Ok(number) => number,
            Err(_) => panic!("{name} {value}: not a number"),
        },
        _ => default,
    }
}

/// Is this flag on the command line?
#[must_use]
pub fn is_given(flag: &str) -> bool {
    std::env::args().any(|argument| argument == flag)
}

/// What the server runs on: Kafka, Cassandra and Redis with `--full`, else embedded parts.
#[must_use]
pub fn parts() -> Options {
    if is_given("--full") { Options::full() } else { Options::default() }
}

/// Prints what is measured, on which parts, and how busy the machine is with other things.
pub fn say_machine(what: &str) {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("?");
    let build = if cfg!(debug_assertions) { ", debug build" } else { "" };
    println!("{what}; {cores} cores, load {load} at the start{build}");
}
