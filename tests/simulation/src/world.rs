//! What all simulated parts share: time, the scheduler's gates, randomness, the trace, what was found wrong.
//!
//! Every port call waits at a gate, before it takes effect, until the scheduler lets it pass. So between any
//! two calls a role can be dropped, overtaken or delayed.

use crate::device::Device;
use crate::log::LogState;
use crate::mutation::Mutation;
use crate::rng::Rng;
use crate::run::Options;
use readmark_domain::hot::{Entry, Epoch};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::time::TimeMs;
use readmark_hot::memory::MemoryHot;
use readmark_runtime::ports::Rules;
use readmark_store::memory::MemoryStore;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Number of a task: one incarnation of one member of a role's group.
pub type TaskId = u64;
/// Number of a consumer.
pub type ConsumerId = u64;

/// The time of day when a simulation starts.
pub const START_MS: u64 = 1_780_000_000_000;

/// When a waiting call may pass.
#[derive(Debug, Clone, Copy)]
pub enum Ready {
    /// Whenever the scheduler likes.
    Now,
    /// At this time.
    At(u64),
    /// When this consumer has something to hand over, or at this time.
    Records(ConsumerId, u64),
}

/// A call that waits at its gate.
#[derive(Debug)]
pub struct Call {
    /// Whose.
    pub task: TaskId,
    /// When it may pass.
    pub ready: Ready,
    /// Passed by the scheduler?
    pub granted: bool,
    waker: Waker,
}

/// Everything behind the one lock.
pub struct State {
    /// Randomness of scheduling and faults.
    pub rng: Rng,
    /// Calls at their gates.
    pub calls: BTreeMap<u64, Call>,
    next_call: u64,
    /// The task being polled.
    pub current: TaskId,
    /// How many of 1,000 port calls fail.
    pub failing_permille: u64,
    /// What was found wrong.
    pub violations: Vec<String>,
    /// Port calls and events, when wanted.
    pub trace: Option<Vec<String>>,
    /// The log.
    pub log: LogState,
    /// Devices.
    pub devices: Vec<Device>,
    /// Every entry that a device was given, by user, epoch and version.
    pub given: BTreeMap<(Uid, Epoch, u64), Entry>,
}

/// The shared parts.
pub struct World {
    now_ms: Arc<AtomicU64>,
    state: Mutex<State>,
    /// What the roles agree on.
    pub rules: Rules,
    /// When each message was or will be sent.
    pub sent: BTreeMap<(ConversationId, Seq), TimeMs>,
    /// The store behind all simulated stores.
    pub truth: Arc<MemoryStore>,
    /// The hot state behind all simulated ones.
    pub hot: MemoryHot,
}

impl World {
    /// At the start of time.
    #[must_use]
    pub fn new(
        rng: Rng,
        log: LogState,
        rules: Rules,
        sent: BTreeMap<(ConversationId, Seq), TimeMs>,
        devices: Vec<Device>,
        Options { mutation, traced, .. }: Options,
    ) -> Arc<Self> {
        let now_ms = Arc::new(AtomicU64::new(0));
        let clock = now_ms.clone();
        let now = Arc::new(move || TimeMs::saturating(START_MS + clock.load(Ordering::Relaxed)));
        let (epochs, kept) = (AtomicU64::new(1), mutation == Some(Mutation::EpochKept));
        let draw =
            Arc::new(move || u128::from(if kept { 1 } else { epochs.fetch_add(1, Ordering::Relaxed) }));
        let state = State {
            rng,
            calls: BTreeMap::new(),
            next_call: 0,
            current: 0,
            failing_permille: 0,
            violations: Vec::new(),
            trace: traced.then(Vec::new),
            log,
            devices,
            given: BTreeMap::new(),
        };
        Arc::new(Self {
            now_ms,
            rules,
            sent,
            state: Mutex::new(state),
            truth: Arc::new(MemoryStore::new(now.clone())),
            hot: MemoryHot::new(now, draw),
        })
    }

    /// The state; one thread runs a world, so that nobody ever waits here.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Milliseconds since the start.
    #[must_use]
    pub fn elapsed_ms(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    /// The time of day.
    #[must_use]
    pub fn now(&self) -> TimeMs {
        TimeMs::saturating(START_MS + self.elapsed_ms())
    }

    /// Moves time.
    pub fn advance_ms(&self, ms: u64) {
        self.now_ms.fetch_add(ms, Ordering::Relaxed);
    }

    /// Waits until the scheduler lets the caller pass.
    pub fn gate(&self, ready: Ready) -> Gate<'_> {
        Gate { world: self, id: None, ready }
    }

    /// Notes something in the trace.
    pub fn note(&self, text: impl FnOnce() -> String) {
        let now_ms = self.elapsed_ms();
        self.state().note(now_ms, text);
    }

    /// Notes something that must not be.
    pub fn violation(&self, text: String) {
        let now_ms = self.elapsed_ms();
        let mut state = self.state();
        state.note(now_ms, || format!("FAULT {text}"));
        state.violations.push(text);
    }
}

impl State {
    /// Notes something in the trace.
    pub fn note(&mut self, now_ms: u64, text: impl FnOnce() -> String) {
        let current = self.current;
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{now_ms:>8} task {current:<3} {}", text()));
        }
    }

    /// Does this call fail?
    pub fn fails(&mut self) -> bool {
        let failing = self.failing_permille;
        failing > 0 && self.rng.below(1_000) < failing
    }

    /// May this call pass now?
    pub fn may_pass(&self, call: &Call, now_ms: u64) -> bool {
        !call.granted
            && match call.ready {
                Ready::Now => true,
                Ready::At(at) => at <= now_ms,
                Ready::Records(consumer, at) => at <= now_ms || self.log.has_something(consumer),
            }
    }

    /// Lets a call pass; gives back whose it is.
    pub fn grant(&mut self, id: u64) -> Option<(TaskId, Waker)> {
        let call = self.calls.get_mut(&id)?;
        call.granted = true;
        Some((call.task, call.waker.clone()))
    }
}

/// A port call that waits to pass.
pub struct Gate<'a> {
    world: &'a World,
    id: Option<u64>,
    ready: Ready,
}

impl Future for Gate<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.world.state();
        let id = match self.id {
            Some(id) if state.calls.get(&id).is_some_and(|call| call.granted) => {
                state.calls.remove(&id);
                drop(state);
                self.id = None;
                return Poll::Ready(());
            }
            Some(id) => {
                if let Some(call) = state.calls.get_mut(&id) {
                    call.waker.clone_from(cx.waker());
                }
                id
            }
            None => {
                let id = state.next_call;
                state.next_call += 1;
                let call = Call {
                    task: state.current,
                    ready: self.ready,
                    granted: false,
                    waker: cx.waker().clone(),
                };
                state.calls.insert(id, call);
                id
            }
        };
        drop(state);
        self.id = Some(id);
        Poll::Pending
    }
}

impl Drop for Gate<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.world.state().calls.remove(&id);
        }
    }
}
