//! Random traffic of many users, who follow it on devices. Each conversation has a worker that does one thing after the
//! other, so that it is known who is a member and what came last; the workers run side by side.
//!
//! A seed gives the same facts again; what happens at the same time is up to the machine.

mod check;
mod facts;
mod worker;

pub use check::{at_rest, shows};

use crate::phone::{Phone, World};
use crate::session::Follower;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::watch;
use worker::Worker;

/// Facts of the IM begin so far in the past, so that none of them lies in the future.
const STARTED_BEFORE_NOW_MS: u64 = 600_000;
/// Users are numbered from here.
const FIRST_UID: u64 = 1_000;

/// How much of it.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Facts: messages, recalls, reads, joins and whatever else a user or the IM says.
    pub events: u64,
    /// Conversations, which is also how many requests are under way at once.
    pub conversations: u64,
    /// Users, each of whom is in some of the conversations.
    pub users: u64,
    /// Users with a second device.
    pub second_devices: u64,
    /// Users whom the Rust client follows besides.
    pub clients: u64,
}

/// Everybody.
pub struct Life {
    /// What all share.
    pub world: Arc<World>,
    /// Devices; a user's first one is at its place, the second ones follow.
    pub phones: Vec<Phone>,
    /// The Rust client, once for each of some users.
    pub clients: Vec<Follower>,
    size: Size,
    seed: u64,
    /// The IM's time, which only rises.
    clock: AtomicU64,
    said: watch::Sender<u64>,
}

impl Life {
    /// Of users whose devices are connecting.
    pub fn new(world: &Arc<World>, seed: u64, size: Size) -> Arc<Self> {
        println!("READMARK_SEED={seed}: {size:?}");
        let firsts = (0..size.users).map(|n| (n, "phone"));
        let seconds = (0..size.second_devices).map(|n| (n, "desk"));
        let phones = firsts.chain(seconds).enumerate().map(|(number, (n, endpoint))| {
            Phone::connect(world, FIRST_UID + n, &format!("{endpoint}-{n}"), number)
        });
        let clients =
            (0..size.clients).enumerate().map(|(number, n)| Follower::start(world, FIRST_UID + n, number));
        Arc::new(Self {
            world: world.clone(),
            phones: phones.collect(),
            clients: clients.collect(),
            size,
            seed,
            clock: AtomicU64::new(readmark_test_harness::now_ms() - STARTED_BEFORE_NOW_MS),
            said: watch::Sender::new(0),
        })
    }

    /// Says everything, until all of it is accepted.
    pub async fn run(self: &Arc<Self>) {
        let workers = (0..self.size.conversations).map(|number| {
            let worker = Worker::new(self, number, self.size.events / self.size.conversations);
            tokio::spawn(worker.run())
        });
        for worker in workers.collect::<Vec<_>>() {
            worker.await.unwrap_or_else(|error| panic!("READMARK_SEED={}: {error}", self.seed));
        }
    }

    /// Waits until so many hundredths of the facts are said.
    pub async fn has_said(&self, percent: u64) {
        let enough = self.size.events * percent / 100;
        let mut said = self.said.subscribe();
        said.wait_for(|said| *said >= enough).await.expect("it is here");
    }

    /// Cuts the sockets of about one device in `of`, and all that go to one gateway.
    pub async fn cut_some(&self, random: &mut StdRng, of: usize) {
        self.world.proxies[random.random_range(0..self.world.proxies.len())].cut();
        for phone in &self.phones {
            if random.random_range(0..of) == 0 {
                phone.cut().await;
            }
        }
    }

    /// A source of draws besides those of the workers.
    #[must_use]
    pub fn random(&self, of: u64) -> StdRng {
        StdRng::seed_from_u64(self.seed.wrapping_mul(1_000).wrapping_add(of))
    }

    /// Facts said so far.
    #[must_use]
    pub fn said(&self) -> u64 {
        *self.said.borrow()
    }

    fn phone(&self, uid: u64) -> &Phone {
        &self.phones[usize::try_from(uid - FIRST_UID).expect("a user of this life")]
    }

    fn next_ms(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    fn count(&self, facts: usize) {
        self.said.send_modify(|said| *said += facts as u64);
    }
}

/// The seed that is asked for, or any.
#[must_use]
pub fn seed() -> u64 {
    match std::env::var("READMARK_SEED") {
        Ok(seed) => seed.parse().expect("READMARK_SEED is a number"),
        Err(_) => rand::random_range(0..1_000_000),
    }
}
