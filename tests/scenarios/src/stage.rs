//! Which server a scenario runs on.

use crate::format::{RedisEvent, Scenario, Step};
use crate::parts::Parts;
use crate::redis::Redis;
use crate::topics::Topics;
use crate::world::{Served, World};
use readmark_test_harness::{Options, Server};
use std::sync::Arc;
use tokio::sync::{Mutex, OnceCell};

/// A server of full parts takes seconds to set up, so few scenarios get one of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On a server that all such scenarios use at once.
    Shared,
    /// On one that is used by one scenario after the other, which may kill it or keep it busy: the one with this number.
    InTurn(usize),
    /// On one of its own.
    Own,
}

/// The servers of one run.
pub struct Stage {
    parts: Parts,
    shared: OnceCell<Served>,
    in_turn: [Mutex<Option<Served>>; Self::IN_TURN],
}

impl Stage {
    /// Servers that are used by one scenario after the other.
    pub const IN_TURN: usize = 2;

    /// On these parts; nothing is started yet.
    #[must_use]
    pub fn on(parts: Parts) -> Self {
        Self { parts, shared: OnceCell::new(), in_turn: Default::default() }
    }

    /// What it runs on.
    #[must_use]
    pub const fn parts(&self) -> Parts {
        self.parts
    }

    /// Where a scenario runs; `number` is its place among all. A server of embedded parts starts at once, so that there
    /// each has its own.
    #[must_use]
    pub fn place(&self, scenario: &Scenario, number: u64) -> Place {
        let is = |is_such: fn(&Step) -> bool| any(&scenario.steps, self.parts, &is_such);
        let is_configured = !scenario.env.is_empty() || !scenario.processes.is_empty();
        if self.parts == Parts::Embedded || is_configured || is(Step::changes_the_parts) {
            Place::Own
        } else if is(Step::changes_the_server) || is(Step::is_large) {
            Place::InTurn(usize::try_from(number).unwrap_or(0) % Self::IN_TURN)
        } else {
            Place::Shared
        }
    }

    /// A world for a scenario in this place.
    pub async fn world(&self, scenario: &Scenario, number: u64, place: Place) -> World {
        let (served, redis) = match place {
            Place::Shared => {
                (self.shared.get_or_init(|| async { serve(Options::full()).await }).await.clone(), None)
            }
            Place::InTurn(turn) => {
                let mut served = self.in_turn[turn].lock().await;
                if served.is_none() {
                    *served = Some(serve(Options::full()).await);
                }
                (served.clone().expect("it was served"), None)
            }
            Place::Own => self.of_its_own(scenario).await,
        };
        World::new(scenario, number, self.parts, served, redis).await
    }

    async fn of_its_own(&self, scenario: &Scenario) -> (Served, Option<Redis>) {
        let options = match self.parts {
            Parts::Embedded => Options::default(),
            Parts::Full => Options::full().processes(&roles(scenario)),
        };
        let options = scenario.env.iter().fold(options, |options, (name, value)| options.env(name, value));
        let is = |is_such: fn(&Step) -> bool| any(&scenario.steps, self.parts, &is_such);
        if !is(|step| matches!(step, Step::Redis(_))) {
            return (serve(options).await, None);
        }
        let redis = Redis::start(is(|step| matches!(step, Step::Redis(RedisEvent::FailOver)))).await;
        let options = options.env("READMARK_HOT__URL", &redis.url());
        (serve(options).await, Some(redis))
    }

    /// Says of a server that other scenarios use, too, what it has printed last; one that is used in turn is not used
    /// again, for nobody knows in which state the failure has left it.
    pub async fn after_failure(&self, place: Place) -> Option<String> {
        let served = match place {
            Place::Shared => self.shared.get().cloned(),
            Place::InTurn(turn) => self.in_turn[turn].lock().await.take(),
            // It says so itself.
            Place::Own => None,
        };
        served.map(|served| served.server.output().tail())
    }
}

async fn serve(options: Options) -> Served {
    let server = Server::start(options).await;
    let topics = Arc::new(Topics::of(&server));
    Served { server, topics }
}

/// The harness wants names that live as long as the program, which these few may.
fn roles(scenario: &Scenario) -> Vec<&'static str> {
    scenario.processes.iter().map(|roles| &*Box::leak(roles.clone().into_boxed_str())).collect()
}

/// Is one of the steps that run on these parts such a step?
pub fn any(steps: &[Step], parts: Parts, is_such: &impl Fn(&Step) -> bool) -> bool {
    steps.iter().any(|step| is_such(step) || any(step.inner(parts), parts, is_such))
}
