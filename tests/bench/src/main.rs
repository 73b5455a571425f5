//! Measures readmark: `readmark-bench NAME [OPTION...]`, rather by `scripts/bench`, which builds and starts what is
//! needed. docs/benchmarks.md has the names.
//!
//! One program, because each is linked with all of readmark, which takes minutes.
#![allow(clippy::expect_used, clippy::panic, reason = "a measurement that can't go on should say so and end")]

mod acks;
mod arguments;
mod device;
mod group;
mod latencies;
mod measure;
mod process;
mod profile;

/// How a measurement ends that hands on errors.
type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let name = std::env::args().nth(1).unwrap_or_default();
    match name.as_str() {
        "aggregate" => measure::aggregate::run().await?,
        "aggregate-full" => measure::aggregate_full::run().await?,
        "latency" => measure::latency::run().await,
        "push" => measure::push::run().await,
        "read-changed" => measure::read_changed::run().await,
        "sockets" => measure::sockets::run().await,
        "unread" => measure::unread::run().await,
        _ => return Err(format!("{name:?} is none of the measurements: see docs/benchmarks.md").into()),
    }
    Ok(())
}
