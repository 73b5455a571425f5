//! Runs every scenario on a set of parts and says of each what became of it.

use crate::files;
use crate::format::{Scenario, Step};
use crate::parts::Parts;
use crate::run::run;
use crate::stage::{Place, Stage, any};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

/// Scenarios at once that have a server of their own: more only wait for the two cores they can count on.
const AT_ONCE: usize = 4;
/// Scenarios at once that share a server, beside those: they mostly wait for it.
const SHARING_AT_ONCE: usize = 6;

/// A scenario, with its place among all.
type Numbered = (u64, Scenario);

/// Runs all, or those whose ids are among the arguments that are no options.
#[must_use]
pub fn main(parts: Parts) -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is_wanted = |scenario: &Scenario| wanted.is_empty() || wanted.contains(&scenario.id);
    let all: Vec<Numbered> = (0..).zip(files::load()).filter(|(_, scenario)| is_wanted(scenario)).collect();
    let is_ready = |(_, scenario): &Numbered| !scenario.steps.is_empty() && scenario.parts.contains(&parts);
    let (ready, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_ready);
    let started = Instant::now();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let failed = runtime.block_on(run_all(parts, &ready));
    list_the_rest(parts, &ready, &others);
    let (count, took) = (ready.len(), started.elapsed());
    println!("\n{count} ran on {parts} in {took:.1?}, {} of them failed {failed:?}", failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn list_the_rest(parts: Parts, ready: &[Numbered], others: &[Numbered]) {
    println!("\nnot all of it is run:");
    for (_, Scenario { id, waits, shown_by, .. }) in ready {
        for waits in waits {
            println!("  {id:<4} waiting for {}: {}", waits.part, waits.what);
        }
        for test in shown_by {
            println!("  {id:<4} the rest is shown by {test}");
        }
    }
    println!("\nnot run on {parts}:");
    for (_, Scenario { id, needs, shown_by, steps, fault, .. }) in others {
        for part in needs {
            println!("  {id:<4} waiting for {part}: {fault}");
        }
        for test in shown_by {
            println!("  {id:<4} shown by {test}");
        }
        if !steps.is_empty() {
            println!("  {id:<4} on other parts only: {fault}");
        }
    }
}

/// The ids of those that failed.
async fn run_all(parts: Parts, scenarios: &[Numbered]) -> Vec<String> {
    let stage = Arc::new(Stage::on(parts));
    let is_timed = |(_, scenario): &&Numbered| any(&scenario.steps, parts, &Step::is_timed);
    let (timed, others): (Vec<_>, Vec<_>) = scenarios.iter().partition(is_timed);
    let of = |is_meant: &dyn Fn(Place) -> bool| -> Vec<&Numbered> {
        let is_meant = |(number, scenario): &&&Numbered| is_meant(stage.place(scenario, *number));
        others.iter().filter(is_meant).copied().collect()
    };
    let mut lanes = vec![
        at_once(AT_ONCE, &stage, of(&|place| place == Place::Own)),
        at_once(SHARING_AT_ONCE, &stage, of(&|place| place == Place::Shared)),
    ];
    for turn in 0..Stage::IN_TURN {
        lanes.push(at_once(1, &stage, of(&|place| place == Place::InTurn(turn))));
    }
    let mut failed = futures::future::join_all(lanes).await.concat();
    failed.extend(at_once(1, &stage, timed).await);
    failed
}

fn at_once<'a>(
    count: usize,
    stage: &'a Arc<Stage>,
    scenarios: Vec<&'a Numbered>,
) -> BoxFuture<'a, Vec<String>> {
    let runs = scenarios.into_iter().map(|(number, scenario)| one(stage, *number, scenario).boxed());
    let failed =
        futures::stream::iter(runs).buffer_unordered(count).filter_map(futures::future::ready).collect();
    failed.boxed()
}

async fn one(stage: &Arc<Stage>, number: u64, scenario: &Scenario) -> Option<String> {
    let (started, place) = (Instant::now(), stage.place(scenario, number));
    let outcome = run(Arc::clone(stage), scenario.clone(), number, place).await;
    let (took, Scenario { id, fault, right, .. }) = (started.elapsed(), scenario);
    match outcome {
        Ok(()) => {
            println!("ok     {id:<4} {took:>7.2?}  {fault}");
            None
        }
        Err(failure) => {
            let parts = stage.parts();
            println!(
                "FAILED {id:<4} {took:>7.2?}  on {parts}: {fault}\n       right: {right}\n       {failure}"
            );
            if let Some(printed) = stage.after_failure(place).await {
                println!("--- what the server of {id} and others printed last\n{printed}\n---");
            }
            Some(id.clone())
        }
    }
}
