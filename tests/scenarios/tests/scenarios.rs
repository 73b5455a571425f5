//! Runs every scenario and says of each what became of it. Arguments that are no options select by id.
#![allow(clippy::expect_used, reason = "tests")]

use futures::StreamExt;
use readmark_test_scenarios::format::Scenario;
use readmark_test_scenarios::{files, run};
use std::process::ExitCode;
use std::time::Instant;

/// Scenarios at once, each with a server of its own: more only wait for the two cores they can count on.
const AT_ONCE: usize = 4;

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is_wanted = |scenario: &Scenario| wanted.is_empty() || wanted.contains(&scenario.id);
    let (waiting, ready): (Vec<_>, Vec<_>) = files::load()
        .into_iter()
        .filter(is_wanted)
        .partition(|scenario| !files::missing(scenario).is_empty());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let failed = runtime.block_on(run_all(&ready));
    println!("\nready but for a part of it:");
    for scenario in &ready {
        for waits in &scenario.waits {
            println!("  {:<4} waiting: {}: {}", scenario.id, waits.part, waits.what);
        }
    }
    println!("\nnot ready:");
    for scenario in &waiting {
        println!("  {:<4} waiting: {}: {}", scenario.id, files::missing(scenario).join(", "), scenario.fault);
    }
    println!("\n{} ran, {} of them failed {failed:?}; {} wait", ready.len(), failed.len(), waiting.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn run_all(scenarios: &[Scenario]) -> Vec<String> {
    let runs = scenarios.iter().map(|scenario| async move {
        let started = Instant::now();
        let outcome = tokio::spawn(run(scenario.clone())).await;
        let took = started.elapsed();
        match outcome {
            Ok(()) => {
                println!("ok     {:<4} {took:>7.2?}  {}", scenario.id, scenario.fault);
                None
            }
            Err(error) => {
                println!("FAILED {:<4} {took:>7.2?}  {}\n       {error}", scenario.id, scenario.fault);
                Some(scenario.id.clone())
            }
        }
    });
    futures::stream::iter(runs)
        .buffer_unordered(AT_ONCE)
        .filter_map(|failed| async { failed })
        .collect()
        .await
}
