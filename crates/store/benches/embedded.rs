//! Figures of the embedded store: receipts/s, bytes per receipt, time to read a read array.
//!
//! `cargo bench -p readmark-store`. Without `--bench` (as `cargo test` runs it) a hundredth of the work, to
//! see that it works.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a program for developers fails by panicking")]

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::time::TimeMs;
use readmark_embedded::{Engine, EngineOptions};
use readmark_store::embedded::EmbeddedStore;
use readmark_store::{ReadArrayAdd, ReadArrayStore};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SEED: u64 = 20_260_101;
const CONVERSATIONS: u64 = 50;
const READERS: usize = 800;
/// Uids are drawn from so many: distances between readers decide the bytes of a receipt.
const UIDS: usize = 100_000_000;
const RECEIPTS_PER_CALL: usize = 200;
/// Calls in flight, as of so many windows that flush at once.
const IN_FLIGHT: usize = 16;

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let messages = if is_bench { 25 } else { 1 };
    let readers = if is_bench { READERS } else { READERS / 4 };
    tokio::runtime::Runtime::new().unwrap().block_on(measure(messages, readers));
}

async fn measure(messages: u64, readers: usize) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("store.redb");
    let store = open(&file).await;
    let calls = calls(messages, readers);
    let receipts: usize = calls.iter().flatten().map(|add| add.readers.len()).sum();
    println!(
        "{receipts} receipts, {CONVERSATIONS} conversations of {readers} readers, {RECEIPTS_PER_CALL} a call, seed {SEED}"
    );

    let took = run(&store, &calls, IN_FLIGHT).await;
    say("new, 16 calls in flight", receipts, took);
    let took = run(&store, &calls, IN_FLIGHT).await;
    say("known, 16 calls in flight", receipts, took);
    read(&store, messages, readers).await;
    drop(store);
    let bytes = std::fs::metadata(&file).unwrap().len();
    println!("file closed: {bytes} bytes, {:.1} bytes a receipt", bytes as f64 / receipts as f64);

    let store = open(&directory.path().join("single.redb")).await;
    let tenth = &calls[..calls.len().div_ceil(10)];
    let took = run(&store, tenth, 1).await;
    say("new, one call after the other", tenth.iter().flatten().map(|add| add.readers.len()).sum(), took);
}

async fn open(file: &Path) -> EmbeddedStore {
    let engine = Engine::open(file, &EngineOptions::default()).unwrap();
    EmbeddedStore::open(engine, Arc::new(|| TimeMs::saturating(1_000))).await.unwrap()
}

fn conversation(n: u64) -> ConversationId {
    ConversationId::new(&format!("conversation-{n:04}")).unwrap()
}

/// Calls of 200 receipts of one conversation over its messages, readers and calls shuffled.
fn calls(messages: u64, readers: usize) -> Vec<Vec<ReadArrayAdd>> {
    let mut rng = StdRng::seed_from_u64(SEED);
    let mut calls = Vec::new();
    for n in 0..CONVERSATIONS {
        let members = rand::seq::index::sample(&mut rng, UIDS, readers);
        let members: Vec<Uid> = members.into_iter().map(|uid| Uid::new(uid as u64).unwrap()).collect();
        let mut receipts: Vec<(u64, Uid)> =
            (1..=messages).flat_map(|seq| members.iter().map(move |uid| (seq, *uid))).collect();
        receipts.shuffle(&mut rng);
        calls.extend(receipts.chunks(RECEIPTS_PER_CALL).map(|batch| adds(n, messages, batch)));
    }
    calls.shuffle(&mut rng);
    calls
}

fn adds(n: u64, messages: u64, batch: &[(u64, Uid)]) -> Vec<ReadArrayAdd> {
    let of_message = |seq| ReadArrayAdd {
        conversation_id: conversation(n),
        seq: Seq::new(seq).unwrap(),
        chunks: 2,
        message_expires_at: TimeMs::saturating(1_000_000_000),
        readers: batch.iter().filter(|(of, _)| *of == seq).map(|(_, uid)| *uid).collect(),
    };
    (1..=messages).map(of_message).filter(|add| !add.readers.is_empty()).collect()
}

async fn run(store: &EmbeddedStore, calls: &[Vec<ReadArrayAdd>], in_flight: usize) -> Duration {
    let shares: Vec<Vec<Vec<ReadArrayAdd>>> =
        calls.chunks(calls.len().div_ceil(in_flight)).map(<[_]>::to_vec).collect();
    let start = Instant::now();
    let mut running = tokio::task::JoinSet::new();
    for share in shares {
        let store = store.clone();
        running.spawn(async move {
            for call in share {
                store.add_readers(&call).await.unwrap();
            }
        });
    }
    while let Some(done) = running.join_next().await {
        done.unwrap();
    }
    start.elapsed()
}

fn say(what: &str, receipts: usize, took: Duration) {
    println!("{what}: {:.0} receipts/s ({:.2} s)", receipts as f64 / took.as_secs_f64(), took.as_secs_f64());
}

async fn read(store: &EmbeddedStore, messages: u64, readers: usize) {
    let mut times = Vec::new();
    for n in 0..CONVERSATIONS {
        for seq in 1..=messages {
            let start = Instant::now();
            let arrays = store.read_arrays(&conversation(n), &[Seq::new(seq).unwrap()]).await.unwrap();
            times.push(start.elapsed());
            assert_eq!(arrays[0].len(), readers, "readers of {seq} in conversation {n}");
        }
    }
    times.sort_unstable();
    let at = |part: usize| times[(times.len() - 1) * part / 100];
    println!("read an array of {readers}: p50 {:?}, p99 {:?}", at(50), at(99));
}
