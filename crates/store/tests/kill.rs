//! What the embedded store has acknowledged survives `kill -9`.
//!
//! The program starts itself as a child that adds receipts and says on its output what has been acknowledged;
//! it kills the child in the middle of that, opens the file and looks. Five times on one file.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::time::TimeMs;
use readmark_embedded::{Engine, EngineOptions};
use readmark_store::embedded::EmbeddedStore;
use readmark_store::{ReadArrayAdd, ReadArrayStore};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

const ROUNDS: u64 = 5;
/// Writers of the child: their calls share commits.
const TASKS: u64 = 8;
/// Acknowledgements after which the child is killed, more in every round.
const ACKS_BEFORE_KILL: usize = 150;
/// Receipts of one call, all of one message, so that half a call would show.
const RECEIPTS: u64 = 20;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    match arguments.as_slice() {
        [_, child, directory, round] if child == "child" => {
            runtime.block_on(add_until_killed(Path::new(directory), round.parse().unwrap()));
        }
        _ => {
            let directory = tempfile::tempdir().unwrap();
            let mut acknowledged = BTreeSet::new();
            for round in 0..ROUNDS {
                acknowledged.extend(run_and_kill(directory.path(), round));
                runtime.block_on(check(directory.path(), &acknowledged));
            }
            println!("kill -9, {ROUNDS} rounds: all of {} acknowledged calls are there", acknowledged.len());
        }
    }
}

async fn open(directory: &Path) -> EmbeddedStore {
    let engine = Engine::open(directory.join("store.redb"), &EngineOptions::default()).unwrap();
    EmbeddedStore::open(engine, Arc::new(|| TimeMs::saturating(1_000))).await.unwrap()
}

/// The conversation of a round.
fn conversation(round: u64) -> ConversationId {
    ConversationId::new(&format!("round-{round}")).unwrap()
}

fn readers(seq: u64) -> Vec<Uid> {
    (0..RECEIPTS).map(|n| Uid::new(seq * 1_000 + n).unwrap()).collect()
}

async fn add_until_killed(directory: &Path, round: u64) {
    let store = open(directory).await;
    let mut writers = tokio::task::JoinSet::new();
    for task in 0..TASKS {
        let store = store.clone();
        writers.spawn(async move {
            for n in 0.. {
                let seq = 1 + task + n * TASKS;
                let add = ReadArrayAdd {
                    conversation_id: conversation(round),
                    seq: Seq::new(seq).unwrap(),
                    chunks: 3,
                    message_expires_at: TimeMs::saturating(1_000_000_000),
                    readers: readers(seq),
                };
                store.add_readers(&[add]).await.unwrap();
                let mut out = std::io::stdout().lock();
                // One write, so that a line is there as a whole or not at all.
                out.write_all(format!("{seq}\n").as_bytes()).unwrap();
                out.flush().unwrap();
            }
        });
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
}

/// What the child had acknowledged when it was killed.
fn run_and_kill(directory: &Path, round: u64) -> Vec<(u64, u64)> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["child".as_ref(), directory.as_os_str(), round.to_string().as_ref()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let wanted = ACKS_BEFORE_KILL * (usize::try_from(round).unwrap() + 1);
    let mut acknowledged: Vec<String> = lines.by_ref().take(wanted).map(Result::unwrap).collect();
    assert_eq!(acknowledged.len(), wanted, "the child ended by itself: {:?}", child.try_wait());
    child.kill().unwrap();
    // Acknowledged before it died, read after.
    acknowledged.extend(lines.map(Result::unwrap));
    let status = child.wait().unwrap();
    assert!(!status.success(), "the child was not killed: {status}");
    acknowledged.iter().map(|line| (round, line.parse().unwrap())).collect()
}

async fn check(directory: &Path, acknowledged: &BTreeSet<(u64, u64)>) {
    let store = open(directory).await;
    for round in 0..ROUNDS {
        let greatest = acknowledged.iter().filter(|(r, _)| *r == round).map(|(_, seq)| *seq).max();
        // A little beyond, where calls may have landed that were not acknowledged: whole or not at all.
        let asked: Vec<u64> = (1..=greatest.unwrap_or(0) + 100).collect();
        let seqs: Vec<Seq> = asked.iter().map(|seq| Seq::new(*seq).unwrap()).collect();
        let arrays = store.read_arrays(&conversation(round), &seqs).await.unwrap();
        for (seq, array) in asked.into_iter().zip(arrays) {
            let is_whole = array.readers() == readers(seq);
            assert!(
                is_whole || array.is_empty(),
                "round {round}, message {seq}: a part of a call, {array:?}"
            );
            assert!(
                is_whole || !acknowledged.contains(&(round, seq)),
                "round {round}, message {seq}: acknowledged and lost"
            );
        }
    }
}
