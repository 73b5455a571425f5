//! Runs the steps of a scenario in order.

use crate::format::{Scenario, Step};
use crate::world::World;
use crate::{answers, calls, events, settle, told};
use futures::future::BoxFuture;
use readmark_test_harness::{Options, Server, load, wait_for_answers};
use std::sync::Arc;

/// Runs a scenario against a server of its own; fails by panicking.
pub async fn run(scenario: Scenario) {
    let options =
        scenario.env.iter().fold(Options::default(), |options, (name, value)| options.env(name, value));
    let orders_by_version =
        scenario.env.get("READMARK_ORDER__SOURCE").is_some_and(|source| source == "version");
    let world = Arc::new(World::new(Server::start(options).await, orders_by_version));
    run_all(&world, &scenario.steps, 0).await;
    world.end().await;
}

async fn run_all(world: &Arc<World>, steps: &[Step], round: u64) {
    for step in steps {
        run_step(world, step, round).await;
    }
}

fn run_step<'a>(world: &'a Arc<World>, step: &'a Step, round: u64) -> BoxFuture<'a, ()> {
    Box::pin(async move {
        // A failing step is named above its failure.
        let shown = StepShown(step);
        match step {
            Step::Join(_)
            | Step::Leave(_)
            | Step::Send(_)
            | Step::Recall(_)
            | Step::Skip(_)
            | Step::Close(_) => {
                events::send(world, step, round).await;
            }
            Step::Policy(_) | Step::Settings(_) | Step::ReadFor(_) | Step::AckFor(_) | Step::Batch(_) => {
                events::send(world, step, round).await;
            }
            Step::Read(step) => calls::read(world, step, round).await,
            Step::Ack(step) => calls::ack(world, step, round).await,
            Step::Clear(step) => calls::clear(world, step, round).await,
            Step::Switch(step) => calls::switch(world, step, round).await,
            Step::Call(step) => calls::call(world, step).await,
            Step::Together(steps) => {
                futures::future::join_all(steps.iter().map(|step| run_step(world, step, round))).await;
            }
            Step::Repeat(repeat) => {
                for round in 1..=repeat.times {
                    run_all(world, &repeat.steps, round).await;
                }
            }
            Step::Put(step) => told::put(world, step).await,
            Step::Random(step) => {
                let size = load::LoadSize {
                    conversations: step.conversations,
                    users: step.users,
                    steps: step.steps,
                };
                let oracle = load::run(&world.server, step.seed, size).await;
                wait_for_answers(&world.server, &oracle).await;
            }
            Step::Kill => {
                world.server.kill();
                world.server.restart().await;
            }
            Step::Restart => {
                world.server.terminate().await;
                world.server.restart().await;
            }
            Step::ForgetPositions => {
                world.server.terminate().await;
                world.server.forget_positions().await;
                world.server.restart().await;
            }
            Step::Settle => settle::settle(world).await,
            Step::Note => world.note().await,
            Step::Watch(step) => answers::watch(world, step),
            Step::Receipt(step) => answers::receipt(world, step, round).await,
            Step::Readers(step) => answers::names(world, "readers", step).await,
            Step::UnreadMembers(step) => answers::names(world, "unread-members", step).await,
            Step::Unread(step) => answers::unread(world, step, round).await,
            Step::Device(step) => told::device(world, step, round).await,
            Step::Records(step) => told::records(world, step).await,
            Step::Metric(step) => told::metric(world, step).await,
            Step::ToldWithin(step) => told::told_within(world, step).await,
        }
        drop(shown);
    })
}

struct StepShown<'a>(&'a Step);

impl Drop for StepShown<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed at the step {:?}", self.0);
        }
    }
}
