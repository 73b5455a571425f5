//! Plays both traces at once to one server, and checks that everything is exact in the end.

use crate::check::{check_answers, check_devices, wait_for_devices};
use crate::player::{Play, play};
use crate::trace::Trace;
use readmark_test_harness::device::Devices;
use readmark_test_harness::{Options, Server, while_killing};
use std::time::{Duration, Instant};

/// Time between two crashes while a trace is played.
const KILL_EVERY: Duration = Duration::from_secs(2);
/// Fewer would not be a test of crashes.
const LEAST_KILLS: usize = 3;

/// Plays both traces.
pub async fn play_both(server: &Server, traces: &[Trace], how: Play) {
    futures::future::join_all(traces.iter().map(|trace| play(server, trace, how))).await;
}

/// Waits until every answer and every device is right, ends the server, and looks at the devices once more.
pub async fn check(server: &Server, traces: &[Trace]) {
    for trace in traces {
        check_answers(server, trace).await;
        wait_for_devices(server, trace).await;
    }
    // What the drain tells must not be wrong either, so the log is read again when the program is gone.
    server.terminate().await;
    let devices = Devices::of(server).await;
    for trace in traces {
        check_devices(&devices, trace)
            .unwrap_or_else(|seen| panic!("told differently after the end: {seen}"));
    }
}

/// Plays without a disturbance.
pub async fn exact(options: Options, how: Play) {
    let (server, traces) = (Server::start(options).await, Trace::both());
    let started = Instant::now();
    play_both(&server, &traces, how).await;
    println!("played in {:?}: {how:?}", started.elapsed());
    check(&server, &traces).await;
    println!("exact after {:?}", started.elapsed());
}

/// Plays while the server is killed every two seconds.
pub async fn exact_while_killed(options: Options, how: Play) {
    let (server, traces) = (Server::start(options).await, Trace::both());
    let kills = while_killing(&server, || KILL_EVERY, play_both(&server, &traces, how)).await;
    println!("{kills} kills: {how:?}");
    assert!(kills >= LEAST_KILLS, "{kills} kills");
    check(&server, &traces).await;
}
