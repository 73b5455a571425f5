//! One simulation: the scheduler decides who goes on, what crashes and when time moves.

mod mishaps;
mod tasks;

use crate::check::{check, check_letters};
use crate::commits::RETENTION;
use crate::device::Device;
use crate::history::History;
use crate::log::LogState;
use crate::mutation::Mutation;
use crate::oracle::Truth;
use crate::rng::Rng;
use crate::roles::RoleFuture;
use crate::shown::{self, check_streams, streams};
use crate::tap::RoleKind;
use crate::world::{Ready, TaskId, World};
use readmark_domain::id::Uid;
use readmark_events::Topic;
use readmark_log::{NewRecord, Position};
use readmark_runtime::ports::Rules;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Steps with faults, at most.
const WILD_STEPS: u64 = 4_000;
/// Crashes and losses, at most: with more, hardly anything gets done in between.
const CRASHES: u64 = 20;
/// Steps to come to rest, at most: more is a fault, something does not end.
const REST_STEPS: u64 = 150_000;
/// Moves of time without progress until parked records are made overdue.
const IDLE_MOVES: u64 = 60;
/// How far time may move in the wild part of a run whose parked records must all find their messages.
const PATIENT_MS: u64 = 20_000;
/// Users in a history, at most.
const USERS: u64 = 6;
/// Past the time that a record may be parked.
const OVERDUE_MS: u64 = 31_000;

/// What is to be run.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Everything random comes from it.
    pub seed: u64,
    /// A rule left out.
    pub mutation: Option<Mutation>,
    /// Keep a trace of all port calls?
    pub traced: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// What was found wrong: nothing, if all is well.
    pub violations: Vec<String>,
    /// Port calls and events.
    pub trace: Vec<String>,
    /// Steps of the scheduler.
    pub steps: u64,
    /// message_read records told.
    pub message_reads: u64,
    /// Roles crashed, stopped, or cut off.
    pub crashes: u64,
}

struct Task {
    id: TaskId,
    role: RoleKind,
    /// Which device it syncs.
    device: Option<usize>,
    future: RoleFuture,
    stop: CancellationToken,
    /// Port calls left to a zombie; `None` for a living member.
    zombie_calls: Option<u64>,
}

/// How wild a run is.
#[derive(Debug)]
struct Wildness {
    /// Of 1,000 steps, how many end or disturb a member.
    disturb_permille: u64,
    feed_permille: u64,
    /// Members of each group.
    members: [u64; 4],
    /// Of 1,000 steps, how many begin a sync of a device.
    sync_permille: u64,
    /// Of 10,000 steps, in how many the hot state loses something.
    hot_loss_per_10_000: u64,
    /// Does a conversation become large on the way?
    grows: bool,
    /// Does retention take records that the notifier may not have had?
    expires: bool,
}

struct Run {
    world: Arc<World>,
    options: Options,
    history: History,
    rules: Rules,
    wildness: Wildness,
    tasks: Vec<Task>,
    next_task: TaskId,
    /// Given records fed so far.
    fed: usize,
    /// Where they lie.
    positions: BTreeMap<Position, usize>,
    steps: u64,
    crashes: u64,
    /// A member that is slow until this step.
    slow: Option<(TaskId, u64)>,
    /// Since it came to rest every device has begun a sync.
    are_synced: bool,
}

/// Runs one seed.
#[must_use]
pub fn run(options: Options) -> Outcome {
    let mut rng = Rng::new(options.seed);
    let history = History::generate(&mut rng);
    let log = LogState::new(u32::try_from(rng.within(1, 3)).unwrap_or(1), rng.pick(&[1, 2, 4, 8, 30]));
    let wildness = Wildness {
        disturb_permille: rng.pick(&[0, 3, 10, 25, 60]),
        feed_permille: rng.pick(&[20, 60, 150, 400]),
        members: [0; 4].map(|_| if rng.chance(25) { 2 } else { 1 }),
        sync_permille: rng.pick(&[5, 20, 60]),
        hot_loss_per_10_000: rng.pick(&[0, 0, 10, 40]),
        grows: rng.chance(15),
        expires: rng.chance(15),
    };
    let rules = Rules {
        prefix: "sim".to_owned(),
        default_receipts: history.default_receipts,
        retention: RETENTION,
        order_source: history.order_source,
    };
    // The first user has two.
    let devices = (1..=USERS).chain([1]).filter_map(|n| Uid::new(n).ok()).map(Device::new).collect();
    let world = World::new(rng, log, rules.clone(), history.sent(), devices, options);
    let mut run = Run {
        world,
        options,
        history,
        rules,
        wildness,
        tasks: Vec::new(),
        next_task: 1,
        fed: 0,
        positions: BTreeMap::new(),
        steps: 0,
        crashes: 0,
        slow: None,
        are_synced: false,
    };
    run.whole();
    let world = run.world.clone();
    let (steps, crashes) = (run.steps, run.crashes);
    drop(run);
    let mut state = world.state();
    Outcome {
        violations: std::mem::take(&mut state.violations),
        trace: state.trace.take().unwrap_or_default(),
        steps,
        message_reads: state.log.told.message_reads,
        crashes,
    }
}

impl Run {
    fn whole(&mut self) {
        self.world.note(|| format!("{:?}", (self.options, &self.wildness, &self.rules, self.history.jumpy)));
        for (number, given) in self.history.given.iter().enumerate() {
            let text = String::from_utf8_lossy(&given.record.payload).into_owned();
            self.world.note(|| format!("given {number} {} {text}", given.record.topic));
        }
        self.wild();
        if !self.rest() {
            return;
        }
        let excused = if self.history.jumpy { self.redeliver_dead_letters() } else { Some(Vec::new()) };
        let Some(excused) = excused else { return };
        self.examine(&excused);
        let again = self.world.state().rng.chance(20);
        if again && self.world.state().violations.is_empty() {
            self.world.note(|| "everything is delivered again, shuffled".to_owned());
            let mut numbers: Vec<usize> = (0..self.history.given.len()).collect();
            self.world.state().rng.shuffle(&mut numbers);
            for number in numbers {
                self.feed(number);
            }
            let streams = streams(&self.world);
            if self.rest() {
                self.examine(&excused);
                let truth = Truth::of(&self.history, self.world.now());
                check_streams(&self.world, &truth, &streams);
            }
        }
    }

    fn examine(&self, excused: &[Position]) {
        let truth = Truth::of(&self.history, self.world.now());
        check(&self.world, &truth, self.history.default_receipts);
        shown::check(&self.world, &truth);
        check_letters(&self.world, &truth, &self.positions, excused);
    }

    fn append(&self, record: NewRecord) -> Position {
        self.world.note(|| format!("fed {} {}", record.topic, String::from_utf8_lossy(&record.payload)));
        let now = self.world.now();
        self.world.state().log.append(record, now).record.position
    }

    fn feed(&mut self, number: usize) {
        let record = self.history.given[number].record.clone();
        let position = self.append(record);
        self.positions.insert(position, number);
    }

    fn feed_next(&mut self) {
        let (twice, earlier) = {
            let rng = &mut self.world.state().rng;
            (rng.chance(10), rng.chance(5).then(|| rng.index(self.fed + 1)))
        };
        let number = self.fed;
        self.fed += 1;
        self.feed(number);
        if twice {
            self.feed(number);
        }
        if let Some(earlier) = earlier {
            self.feed(earlier);
        }
    }

    fn has_more(&self) -> bool {
        self.fed < self.history.given.len()
    }

    /// With faults, until everything was fed and consumed, or long enough.
    fn wild(&mut self) {
        {
            let mut state = self.world.state();
            state.failing_permille = state.rng.pick(&[0, 0, 10, 40]);
            state.log.behind_percent = state.rng.pick(&[0, 20, 50]);
        }
        self.keep_members();
        while self.steps < WILD_STEPS && (self.has_more() || !self.is_settled()) {
            self.steps += 1;
            let roll = self.world.state().rng.below(1_000);
            if self.has_more() && roll < self.wildness.feed_permille {
                self.feed_next();
            } else if self.disturbed() {
                self.disturb();
                self.keep_members();
            } else if self.syncs() {
                self.start_sync();
            } else if self.mishap() {
                self.keep_members();
            } else if self.slowed() {
                self.slow_down();
            } else if !self.jumped() && !self.step() {
                if self.has_more() { self.feed_next() } else { self.move_time() }
            }
        }
        while self.has_more() {
            self.feed_next();
        }
        let mut state = self.world.state();
        state.failing_permille = 0;
        state.log.behind_percent = 0;
        state.note(self.world.elapsed_ms(), || "to rest".to_owned());
    }

    /// Moves time on its own now and then.
    fn jumped(&self) -> bool {
        let mut state = self.world.state();
        if !state.rng.chance(4) || (!self.history.jumpy && self.world.elapsed_ms() > PATIENT_MS) {
            return false;
        }
        let longest = if self.history.jumpy { 70_000 } else { 1_500 };
        let ms = if state.rng.chance(70) { state.rng.within(1, 30) } else { state.rng.within(1, longest) };
        drop(state);
        self.world.advance_ms(ms);
        true
    }

    /// Lets one port call pass; `false` when none may.
    fn step(&mut self) -> bool {
        let now_ms = self.world.elapsed_ms();
        let mut state = self.world.state();
        let ready: Vec<u64> =
            state.calls.iter().filter(|(_, call)| state.may_pass(call, now_ms)).map(|(id, _)| *id).collect();
        let slow = self.slow.filter(|(_, until)| self.steps < *until).map(|(task, _)| task);
        let of_slow = |id: &u64| state.calls.get(id).is_some_and(|call| Some(call.task) == slow);
        let others: Vec<u64> = ready.iter().copied().filter(|id| !of_slow(id)).collect();
        // With nobody else ready, time moves on: windows close and caches age while the slow one waits.
        if others.is_empty() {
            return false;
        }
        let id = state.rng.pick(&others);
        let granted = state.grant(id);
        drop(state);
        let Some((task, waker)) = granted else { return false };
        waker.wake();
        if let Some(at) = self.tasks.iter().position(|known| known.id == task) {
            self.poll(at);
            self.spend(task);
        }
        true
    }

    /// A zombie has few calls left.
    fn spend(&mut self, id: TaskId) {
        let Some(at) = self.tasks.iter().position(|task| task.id == id) else { return };
        let Some(left) = self.tasks[at].zombie_calls else { return };
        if left <= 1 {
            self.world.note(|| format!("task {id} is gone at last"));
            self.drop_task(at);
        } else {
            self.tasks[at].zombie_calls = Some(left - 1);
        }
    }

    /// Moves time to where some call may pass.
    fn move_time(&self) {
        let now_ms = self.world.elapsed_ms();
        let state = self.world.state();
        let next = state.calls.values().filter_map(|call| match call.ready {
            Ready::Now => None,
            Ready::At(at) | Ready::Records(_, at) => Some(at),
        });
        let to = next.min().unwrap_or(now_ms + 1);
        drop(state);
        self.world.advance_ms(to.saturating_sub(now_ms).max(1));
    }

    /// Has everything been consumed, and does every member wait for records?
    fn is_settled(&self) -> bool {
        let state = self.world.state();
        state.calls.values().all(|call| matches!(call.ready, Ready::Records(..))) && state.log.all_consumed()
    }

    fn progress(&self) -> (u64, usize) {
        let state = self.world.state();
        let committed = state.log.groups.values().flat_map(|group| group.committed.values()).sum();
        (committed, state.log.told.letters.len())
    }

    /// Without faults, until nothing is left to do; `false` when that does not end.
    fn rest(&mut self) -> bool {
        (self.slow, self.are_synced) = (None, false);
        while let Some(at) = self.tasks.iter().position(|task| task.zombie_calls.is_some()) {
            self.drop_task(at);
        }
        self.keep_members();
        let (mut idle, mut known) = (0, self.progress());
        for _ in 0..REST_STEPS {
            self.steps += 1;
            if self.step() {
                continue;
            }
            self.keep_members();
            if self.is_settled() {
                if self.are_synced {
                    return true;
                }
                self.are_synced = true;
                self.sync_all();
                continue;
            }
            let progress = self.progress();
            idle = if progress == known { idle + 1 } else { 0 };
            known = progress;
            if idle > IDLE_MOVES {
                idle = 0;
                self.world.advance_ms(OVERDUE_MS);
            } else {
                self.move_time();
            }
        }
        self.world.violation("does not come to rest".to_owned());
        false
    }

    /// What waited too long while time jumped is delivered again, as the janitor does it; gives back where it
    /// lay first.
    fn redeliver_dead_letters(&mut self) -> Option<Vec<Position>> {
        let letters = self.world.state().log.told.letters.clone();
        let waited = |reasons: &Vec<String>| {
            reasons.iter().all(|reason| reason == "message-missing" || reason == "beyond-head")
        };
        let mut excused = Vec::new();
        for (position, _) in letters.iter().filter(|(_, reasons)| waited(reasons)) {
            let found =
                self.world.state().log.slice(position.partition, position.offset, position.offset + 1);
            let Some(stored) = found.into_iter().next() else { continue };
            debug_assert!(matches!(position.partition.topic, Topic::Acks | Topic::Marks));
            let record = stored.record;
            let again = self.append(NewRecord {
                topic: position.partition.topic,
                key: record.key.unwrap_or_default(),
                payload: record.payload,
                headers: record.headers,
            });
            if let Some(number) = self.positions.get(position).copied() {
                self.positions.insert(again, number);
            }
            excused.push(*position);
        }
        self.rest().then_some(excused)
    }
}
