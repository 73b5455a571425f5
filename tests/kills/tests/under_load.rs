//! SIGKILL at random moments under mixed load: every answer in the end is exact, and every device.
#![allow(clippy::expect_used, reason = "tests")]

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use readmark_events::Topic;
use readmark_test_harness::device::Devices;
use readmark_test_harness::load::{self, LoadSize};
use readmark_test_harness::oracle::Oracle;
use readmark_test_harness::{Server, check_devices, offline, wait_for_answers, while_killing};
use std::time::Duration;

const SIZE: LoadSize = LoadSize { conversations: 6, users: 16, steps: 120 };
/// A kill comes this many milliseconds after the server was ready.
const PAUSE_MS: std::ops::Range<u64> = 10..700;
/// Fewer would not be a test of kills.
const LEAST_KILLS: usize = 5;

async fn exact_after_kills(seed: u64) {
    println!("seed {seed}");
    let server = Server::fresh().await;
    let mut rng = StdRng::seed_from_u64(seed);
    let mut oracle = Oracle::default();
    let work = async { oracle = load::run(&server, seed, SIZE).await };
    let kills = while_killing(&server, || Duration::from_millis(rng.random_range(PAUSE_MS)), work).await;
    assert!(kills >= LEAST_KILLS, "{kills} kills");
    wait_for_answers(&server, &oracle).await;
    server.terminate().await;
    let mut devices = Devices::default();
    offline::topic(server.data_dir(), Topic::ReadChanged).await.iter().for_each(|r| devices.told(&r.json()));
    check_devices(&devices, &oracle);
    let dead = offline::topic(server.data_dir(), Topic::DeadLetters).await;
    assert!(dead.is_empty(), "{} dead letters, first: {:?}", dead.len(), dead.first());
}

#[tokio::test(flavor = "multi_thread")]
async fn first_seed() {
    exact_after_kills(11).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn second_seed() {
    exact_after_kills(12).await;
}

/// `READMARK_SEED` replays a failure, or tries another order of things.
#[tokio::test(flavor = "multi_thread")]
async fn seed_of_choice() {
    let given = std::env::var("READMARK_SEED").ok();
    exact_after_kills(given.map_or(13, |seed| seed.parse().expect("READMARK_SEED is a number"))).await;
}
