//! Steps about the server's processes.

use crate::format::{Process, ProcessIs, Replay};
use crate::world::World;
use readmark_test_harness::{Beacons, CONSUMING_ROLES};
use std::time::{Duration, Instant};

/// Records a second: more than any machine takes.
const RATE: &str = "1000000";

/// SIGKILL and start.
pub async fn kill(world: &World) {
    world.server.kill();
    world.counts_anew();
    world.server.restart().await;
}

/// SIGTERM and start.
pub async fn restart(world: &World) {
    world.server.terminate().await;
    world.counts_anew();
    world.server.restart().await;
}

/// As [`restart`]; in between the position of every group is taken away.
pub async fn forget_positions(world: &World) {
    world.server.terminate().await;
    world.counts_anew();
    world.server.forget_positions().await;
    world.server.restart().await;
}

/// What becomes of one process.
pub async fn change(world: &World, step: &Process) {
    let with_roles = world.server.processes().into_iter().filter(|process| process.roles() == step.roles);
    let process = with_roles.into_iter().nth(step.which);
    let process = process.unwrap_or_else(|| panic!("there is no process {} of {}", step.which, step.roles));
    match step.is {
        ProcessIs::Stopped => process.terminate().await,
        ProcessIs::Killed => process.kill(),
        ProcessIs::Started => process.restart().await,
        ProcessIs::KilledAndStarted => {
            let role = CONSUMING_ROLES.into_iter().find(|role| *role == step.roles);
            let role = role.unwrap_or_else(|| panic!("{} is no consuming role", step.roles));
            let beacons = Beacons::of(&world.server);
            beacons.handled(&[role], Instant::now()).await;
            let killed = Instant::now();
            process.kill();
            let roles = [role];
            let (handled, ()) = tokio::join!(beacons.handled(&roles, killed), process.restart());
            let within = Duration::from_millis(step.within_ms.unwrap_or(u64::MAX));
            println!("{}: all partitions are handled again after {:?}", world.id, handled[role]);
            assert!(handled[role] < within, "handled after {:?}, must be within {within:?}", handled[role]);
        }
    }
}

/// `readmark replay` of a topic, to its end.
pub async fn replay(world: &World, step: &Replay) {
    let id = world.conversation(&step.c);
    let what = ["replay", "--topic", &step.topic, "--conversation", &id, "--from-time", "0", "--rate", RATE];
    let report = world.server.operate(&[&what[..], &["--yes", "--format", "json"]].concat()).await;
    let report = report.expect(0).json();
    assert!(report["complete"] == true && report["sent"] != "0", "{report}");
}
