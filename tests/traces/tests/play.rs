//! Both traces at once, played in every way, to a server each.
#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

use readmark_events::Topic;
use readmark_test_harness::device::Devices;
use readmark_test_harness::{Server, offline, while_killing};
use readmark_test_traces::{
    KILL_EVERY, Play, Reads, Trace, check_answers, check_devices, play, wait_for_devices,
};
use std::time::{Duration, Instant};

/// Long enough for several crashes.
const SPREAD_OVER: Duration = Duration::from_secs(9);
/// Fewer would not be a test of crashes.
const LEAST_KILLS: usize = 3;

async fn play_both(server: &Server, traces: &[Trace], how: Play) {
    futures::future::join_all(traces.iter().map(|trace| play(server, trace, how))).await;
}

async fn check(server: &Server, traces: &[Trace]) {
    for trace in traces {
        check_answers(server, trace).await;
        wait_for_devices(server, trace).await;
    }
    // What the drain tells must not be wrong either, so the log is read again when the program is gone.
    server.terminate().await;
    let told = offline::topic(server.data_dir(), Topic::ReadChanged).await;
    let mut devices = Devices::default();
    told.iter().for_each(|record| devices.told(&record.json()));
    for trace in traces {
        check_devices(&devices, trace)
            .unwrap_or_else(|seen| panic!("told differently after the end: {seen}"));
    }
}

async fn exact(how: Play) {
    let (server, traces) = (Server::fresh().await, Trace::both());
    let started = Instant::now();
    play_both(&server, &traces, how).await;
    println!("played in {:?}: {how:?}", started.elapsed());
    check(&server, &traces).await;
    println!("exact after {:?}", started.elapsed());
}

async fn exact_while_killed(how: Play) {
    let (server, traces) = (Server::fresh().await, Trace::both());
    let kills = while_killing(&server, || KILL_EVERY, play_both(&server, &traces, how)).await;
    assert!(kills >= LEAST_KILLS, "{kills} kills");
    check(&server, &traces).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_full_speed() {
    exact(Play::FULL_SPEED).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_several_requests_in_flight() {
    exact(Play { batch: 40, in_flight: 8, ..Play::FULL_SPEED }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_every_record_delivered_twice() {
    exact(Play { batch: 100, twice: true, ..Play::FULL_SPEED }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_reads_by_the_readers_themselves() {
    exact(Play { batch: 100, in_flight: 16, reads: Reads::ByReaders, ..Play::FULL_SPEED }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_reads_by_the_readers_twice() {
    exact(Play { batch: 100, in_flight: 16, twice: true, reads: Reads::ByReaders, ..Play::FULL_SPEED }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_every_two_seconds() {
    exact_while_killed(Play { batch: 50, spread_over: SPREAD_OVER, ..Play::FULL_SPEED }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_every_two_seconds_with_reads_by_the_readers() {
    let how = Play { batch: 50, in_flight: 8, reads: Reads::ByReaders, ..Play::FULL_SPEED };
    exact_while_killed(Play { spread_over: SPREAD_OVER, ..how }).await;
}
