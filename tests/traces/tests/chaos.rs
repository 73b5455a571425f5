//! Both traces and a crowd on several processes, two of each consuming role, while processes and outside parts fail:
//! in the end everything is exact. What each failure costs is printed.
#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

use readmark_test_harness::{
    Beacons, CONSUMING_ROLES, Options, Part, Process, Server, Services, Start, wait_until,
};
use readmark_test_traces::{Crowd, Play, Trace, check, play_both};
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// One failure at a time: two tests at once would only measure each other.
static ALONE: Mutex<()> = Mutex::const_new(());

const TWO_OF_EACH: [&str; 8] = [
    "gateway,query,notifier",
    "gateway,query,notifier",
    "catalog",
    "catalog",
    "aggregator",
    "aggregator",
    "watermark",
    "watermark",
];
/// Time between two kills of processes.
const KILL_EVERY: Duration = Duration::from_secs(10);
/// Sessions where processes are killed. A member that was restarted must not have had to wait until its own was over, as
/// a new one would.
const SESSION: Duration = Duration::from_secs(60);
/// How long a process is frozen at least.
const FROZEN_FOR: Duration = Duration::from_secs(20);
/// Traffic before the first failure and after the last.
const MARGIN: Duration = Duration::from_secs(4);
/// A part that is away is noticed within this time.
const NOTICED_WITHIN: Duration = Duration::from_secs(60);

/// The server, what it is sent, and what shows that all partitions move.
struct Stage {
    server: Server,
    traces: Vec<Trace>,
    crowd: Crowd,
    beacons: Beacons,
}

impl Stage {
    async fn set(options: Options) -> Self {
        let server = Server::start(options).await;
        let beacons = Beacons::of(&server);
        beacons.handled(&CONSUMING_ROLES, Instant::now()).await;
        Self { server, traces: Trace::both(), crowd: Crowd::new(1), beacons }
    }

    /// Plays everything over that time beside the failures; then all must be exact.
    async fn exact_despite(&self, over: Duration, failures: impl Future<Output = ()>) {
        let how = Play { batch: 20, spread_over: over, ..Play::SLOWLY_BY_READERS };
        tokio::join!(
            play_both(&self.server, &self.traces, how),
            self.crowd.play(&self.server, over),
            failures
        );
        println!("the longest wait for an answer: {:.1?}", self.server.longest_wait());
        self.crowd.check(&self.server).await;
        check(&self.server, &self.traces).await;
    }

    /// Waits until these roles handle all partitions again and says how long that took.
    async fn moves_again(&self, what: &str, roles: &[&'static str], since: Instant) -> Duration {
        let handled = self.beacons.handled(roles, since).await;
        for (role, after) in &handled {
            println!("{what}: the {role} handles all partitions again after {after:.1?}");
        }
        handled.into_values().max().expect("roles are asked for")
    }

    fn with_roles(&self, roles: &str) -> Vec<Process> {
        self.server.processes().into_iter().filter(|process| process.roles() == roles).collect()
    }
}

async fn pause(length: Duration) {
    tokio::time::sleep(length).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_is_killed_every_ten_seconds() {
    let _alone = ALONE.lock().await;
    let session_ms = SESSION.as_millis().to_string();
    let options = Options::full().env("READMARK_LOG__SESSION_TIMEOUT_MS", &session_ms);
    let stage = Stage::set(options.processes(&TWO_OF_EACH)).await;
    // Each role in turn, and of each role each process.
    let turns: Vec<Process> = [0, 1]
        .into_iter()
        .flat_map(|which| ["aggregator", "watermark", "catalog"].map(|role| (which, role)))
        .map(|(which, role)| stage.with_roles(role).swap_remove(which))
        .collect();
    let over = KILL_EVERY * u32::try_from(turns.len()).expect("few") + MARGIN;
    let kills = async {
        let started = tokio::time::Instant::now();
        for (number, process) in (0..).zip(&turns) {
            tokio::time::sleep_until(started + MARGIN + KILL_EVERY * number).await;
            let roles = [process.roles()];
            stage.moves_again("undisturbed", &roles, Instant::now()).await;
            let killed = Instant::now();
            process.kill();
            let what = format!("{} killed and restarted", process.name());
            let moves_again = stage.moves_again(&what, &roles, killed);
            let ((), after) = tokio::join!(process.restart(), moves_again);
            assert!(after < SESSION / 2, "{what}: {after:?}");
        }
    };
    stage.exact_despite(over, kills).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_were_frozen_wake_as_zombies() {
    let _alone = ALONE.lock().await;
    let stage = Stage::set(Options::full().processes(&TWO_OF_EACH)).await;
    let frozen = CONSUMING_ROLES.map(|role| stage.with_roles(role).swap_remove(0));
    let freeze = async {
        pause(MARGIN).await;
        let began = Instant::now();
        frozen.iter().for_each(Process::freeze);
        // The others have taken over when every partition moves: who wakes then is a zombie.
        stage.moves_again("one of two frozen", &CONSUMING_ROLES, began).await;
        pause(FROZEN_FOR.saturating_sub(began.elapsed())).await;
        let woke = Instant::now();
        frozen.iter().for_each(Process::thaw);
        stage.moves_again("frozen ones awake", &CONSUMING_ROLES, woke).await;
        for process in &frozen {
            process.ready().await;
        }
    };
    stage.exact_despite(MARGIN + FROZEN_FOR * 2, freeze).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_third_process_joins_while_windows_are_open() {
    let _alone = ALONE.lock().await;
    let stage = Stage::set(Options::full().processes(&TWO_OF_EACH)).await;
    let join = async {
        pause(MARGIN).await;
        let began = Instant::now();
        let third = stage.server.add("catalog,aggregator,watermark");
        third.restart().await;
        println!("a third process joined: ready after {:.1?}", began.elapsed());
        stage.moves_again("a third process joined", &CONSUMING_ROLES, began).await;
    };
    stage.exact_despite(MARGIN * 4, join).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_broker_and_the_store_are_killed_and_away_at_the_start() {
    let _alone = ALONE.lock().await;
    let services = Arc::new(Services::own(1));
    let stage = Stage::set(Options::full_on(&services).processes(&TWO_OF_EACH)).await;
    let kills = async {
        for (part, named) in [(Part::Kafka, "log"), (Part::Cassandra, "store")] {
            pause(MARGIN).await;
            killed_and_restarted(&stage, &services, part, named).await;
        }
    };
    stage.exact_despite(Duration::from_secs(45), kills).await;
    assert_eq!(stage.server.unanswered(), 0, "every request is answered, with 503 if need be");
    for part in [Part::Kafka, Part::Cassandra] {
        refused_at_the_start(&stage.server, &services, part).await;
    }
}

async fn killed_and_restarted(stage: &Stage, services: &Arc<Services>, part: Part, named: &str) {
    let killed = Instant::now();
    blocking(services, move |services| services.kill(part)).await;
    let processes = stage.server.processes();
    wait_until(NOTICED_WITHIN, "a part that is away to be noticed", || async {
        let missing = processes[0].missing().await;
        if missing.iter().any(|part| part == named) { Ok(()) } else { Err(format!("missing: {missing:?}")) }
    })
    .await;
    blocking(services, move |services| services.start(part)).await;
    println!("{part:?} killed: it answers again after {:.1?}", killed.elapsed());
    stage.moves_again(&format!("{part:?} killed"), &CONSUMING_ROLES, killed).await;
    for process in &processes {
        process.ready().await;
    }
    println!("{part:?} killed: all are ready after {:.1?}", killed.elapsed());
}

/// A part that is not there at the start is named, with where it was looked for.
async fn refused_at_the_start(server: &Server, services: &Arc<Services>, part: Part) {
    blocking(services, move |services| services.kill(part)).await;
    let marker = format!("test| {part:?} is away");
    server.output().push(marker.clone());
    let began = Instant::now();
    let Start::Ended(status) = server.try_start().await else { panic!("started without {part:?}") };
    println!("{part:?} away at the start: refused after {:.1?}", began.elapsed());
    let text = server.output().text();
    let (_, text) = text.rsplit_once(&marker).expect("the newest lines are kept");
    assert_eq!(status.code(), Some(1), "{text}");
    assert!(text.contains(services.address(part)) && !text.contains("panicked"), "{text}");
    blocking(services, move |services| services.start(part)).await;
}

async fn blocking(services: &Arc<Services>, call: impl FnOnce(&Services) + Send + 'static) {
    let services = Arc::clone(services);
    tokio::task::spawn_blocking(move || call(&services)).await.expect("no panic");
}
