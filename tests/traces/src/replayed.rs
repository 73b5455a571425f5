//! Delivers a trace's acks and marks again, by the command `replay`.

use crate::check::check_answers;
use crate::exact::{check, play_both};
use crate::player::Play;
use crate::trace::Trace;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use readmark_test_harness::{Options, Server, wait_while_moving};

/// What readers say, which is what a replay repairs.
const TOPICS: [&str; 2] = ["acks", "marks"];
/// Slices of each topic.
const SLICES: usize = 8;
/// Share of the slices that are delivered twice.
const TWICE: f64 = 0.25;
/// More than any machine takes.
const RATE: &str = "1000000";

/// Plays, delivers everything again, once and in shuffled slices, and checks after each that no answer has changed.
pub async fn exact_after_replays(options: Options) {
    let (server, traces) = (Server::start(options).await, Trace::both());
    play_both(&server, &traces, Play::FULL_SPEED).await;
    for trace in &traces {
        check_answers(&server, trace).await;
    }
    handled(&server).await;
    let slices = slices(&server).await;
    for topic in TOPICS {
        let records = server.topic(topic).await.len().to_string();
        let dry_run = replay(&server, topic, &["--from-time", "-1d", "--dry-run"]).await;
        assert_eq!((&*dry_run.0, &*dry_run.1), (&*records, "0"), "{topic}: matched and sent");
        let once = replay(&server, topic, &["--from-time", "-1d", "--yes"]).await;
        assert_eq!((&*once.0, &*once.1), (&*records, &*records), "{topic}: matched and sent");
    }
    handled(&server).await;
    for trace in &traces {
        check_answers(&server, trace).await;
    }
    for (topic, from, to) in slices {
        replay(&server, topic, &["--from-time", &from.to_string(), "--to-time", &to.to_string(), "--yes"])
            .await;
    }
    handled(&server).await;
    assert_eq!(server.topic("dead-letters").await.len(), 0);
    check(&server, &traces).await;
}

/// Delivers a stretch again; how many records were matched, and sent.
async fn replay(server: &Server, topic: &str, stretch: &[&str]) -> (String, String) {
    let mut arguments = vec!["replay", "--topic", topic, "--rate", RATE, "--format", "json"];
    arguments.extend(stretch);
    let report = server.operate(&arguments).await.expect(0).json();
    assert_eq!(report["complete"], true, "{report}");
    let count = |name: &str| report[name].as_str().unwrap_or_else(|| panic!("{report}")).to_owned();
    (count("matched"), count("sent"))
}

/// Slices of time of all topics, shuffled, some of them twice.
async fn slices(server: &Server) -> Vec<(&'static str, u64, u64)> {
    let seed: u64 = rand::random();
    println!("slices of seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let mut slices = Vec::new();
    for topic in TOPICS {
        let records = server.topic(topic).await;
        let mut times: Vec<u64> = records.iter().map(|record| record.appended_at_ms).collect();
        times.sort_unstable();
        times.dedup();
        let (Some(first), Some(last)) = (times.first().copied(), times.last().copied()) else {
            panic!("nothing on {topic}")
        };
        let mut cuts: Vec<u64> = (1..SLICES).map(|_| rng.random_range(first..=last)).collect();
        cuts.extend([first, last + 1]);
        cuts.sort_unstable();
        cuts.dedup();
        slices.extend(cuts.windows(2).map(|pair| (topic, pair[0], pair[1])));
    }
    let twice: Vec<_> = slices.iter().copied().filter(|_| rng.random_bool(TWICE)).collect();
    slices.extend(twice);
    slices.shuffle(&mut rng);
    slices
}

/// Waits until the roles have handled all that is there, also what they hand on to each other.
async fn handled(server: &Server) {
    for _ in 0..2 {
        wait_while_moving("the roles to have handled everything", || async {
            let lag = server.operate(&["inspect", "lag", "--format", "json"]).await.expect(0).json();
            if lag["lag"] == 0 { Ok(()) } else { Err(format!("lag {}", lag["lag"])) }
        })
        .await;
    }
}
