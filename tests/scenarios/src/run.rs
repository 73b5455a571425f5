//! Runs the steps of a scenario in order.

use crate::format::{Scenario, Step};
use crate::parts::Parts;
use crate::stage::{Place, Stage};
use crate::world::World;
use crate::{answers, calls, devices, events, processes, settle, told, watches, zombie};
use futures::future::BoxFuture;
use readmark_test_harness::{load, wait_for_answers};
use std::any::Any;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::task::JoinError;

/// A step that takes longer is named: all of them together must be quick.
const SLOW: Duration = Duration::from_secs(5);

/// Where a scenario is, for who has to say where it failed.
#[derive(Clone, Default)]
struct Whereabouts {
    failed_at: Arc<Mutex<Option<String>>>,
}

/// Runs a scenario in its place; `number` is the one it has among all. Fails with the step, what was expected and what was seen.
///
/// # Errors
/// What the failing step said.
pub async fn run(stage: Arc<Stage>, scenario: Scenario, number: u64, place: Place) -> Result<(), String> {
    let at = Whereabouts::default();
    let at_inside = at.clone();
    let played = tokio::spawn(async move {
        let world = Arc::new(stage.world(&scenario, number, place).await);
        run_all(&world, &scenario.steps, 0, &at_inside).await;
        world.end().await;
    });
    let Err(failed) = played.await else { return Ok(()) };
    let failed_at = at.failed_at.lock().unwrap().take();
    let failed_at = failed_at.unwrap_or_else(|| "before the first step, or after the last".to_owned());
    Err(format!("{failed_at}\n       {}", said(failed)))
}

/// What a task said when it failed.
pub fn said(failed: JoinError) -> String {
    let panic: Box<dyn Any + Send> = match failed.try_into_panic() {
        Ok(panic) => panic,
        Err(cancelled) => return cancelled.to_string(),
    };
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast_ref::<&str>().map_or("it says nothing", |text| text).to_owned(),
    }
}

fn run_all<'a>(
    world: &'a Arc<World>,
    steps: &'a [Step],
    round: u64,
    at: &'a Whereabouts,
) -> BoxFuture<'a, ()> {
    Box::pin(async move {
        for (number, step) in (1..).zip(steps) {
            let _shown = StepShown { number, step, round, at };
            let began = Instant::now();
            run_step(world, step, round, at).await;
            if began.elapsed() > SLOW {
                println!("{}: step {number} took {:.1?}: {step:?}", world.id, began.elapsed());
            }
        }
    })
}

async fn run_step(world: &Arc<World>, step: &Step, round: u64, at: &Whereabouts) {
    match step {
        Step::Join(_) | Step::Leave(_) | Step::Send(_) | Step::Recall(_) | Step::Skip(_) => {
            events::send(world, step, round).await;
        }
        Step::Close(_) | Step::Policy(_) | Step::Settings(_) => events::send(world, step, round).await,
        Step::ReadFor(_) | Step::AckFor(_) | Step::Batch(_) => events::send(world, step, round).await,
        Step::Read(step) => calls::read(world, step, round).await,
        Step::Ack(step) => calls::ack(world, step, round).await,
        Step::Clear(step) => calls::clear(world, step, round).await,
        Step::Switch(step) => calls::switch(world, step, round).await,
        Step::Call(step) => calls::call(world, step).await,
        Step::AskOften(step) => calls::ask_often(world, step).await,
        Step::Together(steps) => {
            let at_once = steps.iter().map(|step| run_all(world, std::slice::from_ref(step), round, at));
            futures::future::join_all(at_once).await;
        }
        Step::Repeat(repeat) => {
            for round in 1..=repeat.times {
                run_all(world, &repeat.steps, round, at).await;
            }
        }
        Step::Full(steps) if world.parts == Parts::Full => run_all(world, steps, round, at).await,
        Step::Full(_) => {}
        Step::Put(step) => told::put(world, step).await,
        Step::Random(step) => {
            let (conversations, users, steps) = (step.conversations, step.users, step.steps);
            let size = load::LoadSize { conversations, users, steps };
            let oracle = load::run(&world.server, step.seed, size).await;
            wait_for_answers(&world.server, &oracle).await;
        }
        Step::Kill => processes::kill(world).await,
        Step::Restart => processes::restart(world).await,
        Step::ForgetPositions => processes::forget_positions(world).await,
        Step::Process(step) => processes::change(world, step).await,
        Step::Replay(step) => processes::replay(world, step).await,
        Step::Zombie(step) => zombie::write(world, step).await,
        Step::Redis(step) => world.redis.as_ref().expect("it has its own").does(*step, world).await,
        Step::Settle => settle::settle(world).await,
        Step::Note => world.note().await,
        Step::Watch(step) => watches::watch(world, step),
        Step::Receipt(step) => answers::receipt(world, step, round).await,
        Step::Readers(step) => answers::names(world, "readers", step).await,
        Step::UnreadMembers(step) => answers::names(world, "unread-members", step).await,
        Step::Unread(step) => answers::unread(world, step, round).await,
        Step::Device(step) => told::device(world, step, round).await,
        Step::Connect(step) => devices::connect(world, step, round).await,
        Step::Sync(step) => devices::sync(world, step, round).await,
        Step::Shows(step) => devices::shows(world, step, round).await,
        Step::Entries(step) => devices::entries(world, step, round).await,
        Step::Records(step) => told::records(world, step).await,
        Step::Metric(step) => told::metric(world, step).await,
        Step::ToldWithin(step) => told::told_within(world, step).await,
    }
}

/// Says which step failed: the innermost one, with its number in its list.
struct StepShown<'a> {
    number: usize,
    step: &'a Step,
    round: u64,
    at: &'a Whereabouts,
}

impl Drop for StepShown<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let round = if self.round == 0 { String::new() } else { format!(" of round {}", self.round) };
            let mut failed_at = self.at.failed_at.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            failed_at.get_or_insert(format!("step {}{round}: {:?}", self.number, self.step));
        }
    }
}
