//! A process that is killed in the middle of a rebalance, and comes back under its name.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "a panic is how a test fails, and it waits for one event among others"
)]

mod cluster;

use cluster::{Cluster, DEADLINE, create_all, delete_all};
use readmark_events::Topic;
use readmark_log::kafka::{KafkaLog, KafkaLogOptions};
use readmark_log::{Consumer, EventLog, Group, PolledEvent, TopicPartition};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const TOPIC: Topic = Topic::Acks;
/// Set for the process that is killed: where its brokers are, and the prefix of its topics.
const CHILD: &str = "READMARK_TEST_MEMBER";

fn group() -> Group {
    Group("crash".to_owned())
}

fn named(options: &KafkaLogOptions, instance_id: &str) -> KafkaLogOptions {
    let revoke_within = Duration::from_secs(2);
    KafkaLogOptions { instance_id: Some(instance_id.to_owned()), revoke_within, ..options.clone() }
}

/// Not a test of its own: a member that says what it owns, and hangs when it is to give back.
#[tokio::test(flavor = "multi_thread")]
async fn member_to_be_killed() {
    let Ok(place) = std::env::var(CHILD) else { return };
    let (brokers, prefix) = place.split_once(' ').unwrap();
    let log = KafkaLog::open(named(&KafkaLogOptions::new(brokers, prefix), "killed")).await.unwrap();
    let mut member = log.join(&group(), &[TOPIC]).await.unwrap();
    loop {
        match member.next(100).await.unwrap() {
            PolledEvent::Assigned(given) => eprintln!("GIVEN {}", given.len()),
            PolledEvent::Revoked(asked) => eprintln!("ASKED {}", asked.len()),
            _ => {}
        }
    }
}

fn start_child(options: &KafkaLogOptions) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "member_to_be_killed", "--nocapture"])
        .env(CHILD, format!("{} {}", options.brokers, options.topic_prefix))
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    (child, lines)
}

/// Polls and says what is owned, until the test is over.
fn work(mut member: Box<dyn Consumer>) -> Arc<Mutex<BTreeSet<TopicPartition>>> {
    let owned = Arc::new(Mutex::new(BTreeSet::new()));
    let told = Arc::clone(&owned);
    tokio::spawn(async move {
        loop {
            match member.next(100).await.unwrap() {
                PolledEvent::Assigned(given) => told.lock().unwrap().extend(given),
                PolledEvent::Revoked(asked) => {
                    told.lock().unwrap().retain(|one| !asked.contains(one));
                    member.release(&asked).await.unwrap();
                }
                PolledEvent::Lost(lost) => told.lock().unwrap().retain(|one| !lost.contains(one)),
                _ => {}
            }
        }
    });
    owned
}

/// The group has settled on what the killed one would have kept: it gives it that again, and the rest to nobody.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_member_left_to_nobody_when_it_was_killed_is_taken() {
    if std::env::var_os(CHILD).is_some() {
        return;
    }
    let options = Cluster::shared().options();
    create_all(&options, 4).await;
    let (mut child, mut lines) = start_child(&options);
    let mut next = |wanted: &str| lines.find(|line| line.starts_with(wanted)).expect("the member goes on");
    assert_eq!(next("GIVEN"), "GIVEN 4");
    let other = KafkaLog::open(named(&options, "other")).await.unwrap();
    let others = work(other.join(&group(), &[TOPIC]).await.unwrap());
    assert_eq!(next("ASKED"), "ASKED 2");
    child.kill().unwrap();
    child.wait().unwrap();

    let again = KafkaLog::open(named(&options, "killed")).await.unwrap();
    let own = work(again.join(&group(), &[TOPIC]).await.unwrap());
    let start = Instant::now();
    loop {
        let (own, others) = (own.lock().unwrap().clone(), others.lock().unwrap().clone());
        if own.len() + others.len() == 4 && own.is_disjoint(&others) {
            println!("all are owned after {:?}: {own:?} and {others:?}", start.elapsed());
            break;
        }
        assert!(start.elapsed() < DEADLINE, "owned are {own:?} and {others:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    delete_all(options);
}
