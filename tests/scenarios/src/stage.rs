//! Which server a scenario runs on: one that it shares, where it may, or one of its own.

use crate::format::{RedisEvent, Scenario, Step};
use crate::parts::Parts;
use crate::redis::Redis;
use crate::topics::Topics;
use crate::world::{Served, World};
use readmark_test_harness::{Options, Server};
use std::sync::Arc;
use tokio::sync::OnceCell;

/// The servers of one run.
pub struct Stage {
    parts: Parts,
    shared: OnceCell<Served>,
}

impl Stage {
    /// On these parts; nothing is started yet.
    #[must_use]
    pub fn on(parts: Parts) -> Self {
        Self { parts, shared: OnceCell::new() }
    }

    /// What it runs on.
    #[must_use]
    pub const fn parts(&self) -> Parts {
        self.parts
    }

    /// Does a scenario share its server with others? One of embedded parts starts at once, so that each has its own.
    #[must_use]
    pub fn shares(&self, scenario: &Scenario) -> bool {
        let needs_its_own = |step: &Step| step.is_about_the_server();
        let is_plain = scenario.env.is_empty() && scenario.processes.is_empty();
        self.parts == Parts::Full && is_plain && !any(&scenario.steps, self.parts, &needs_its_own)
    }

    /// A world for a scenario; `number` is its place among all.
    pub async fn world(&self, scenario: &Scenario, number: u64) -> World {
        let (served, redis) = if self.shares(scenario) {
            let shared = self.shared.get_or_init(|| async { serve(Options::full()).await }).await;
            (shared.clone(), None)
        } else {
            self.of_its_own(scenario).await
        };
        World::new(scenario, number, self.parts, served, redis)
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

    /// What the shared server has printed last, if there is one.
    #[must_use]
    pub fn printed(&self) -> Option<String> {
        self.shared.get().map(|served| served.server.output().tail())
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
