//! Group commit, jobs that fail, closing, checksums, and what opening says.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

use readmark_embedded::redb::{ReadableTable, TableDefinition};
use readmark_embedded::{
    COMMIT_JOBS_MAX, Engine, EngineErrorKind, EngineOptions, JobError, OpenError, QUEUE_JOBS_MAX, SealedTable,
};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use tempfile::TempDir;
use tokio::task::JoinSet;

const TABLE: SealedTable = SealedTable::new("numbers");

struct Fixture {
    directory: TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self { directory: TempDir::new().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("engine.redb")
    }

    fn open(&self) -> Engine {
        Engine::open(self.path(), &EngineOptions::default()).unwrap()
    }
}

async fn put(engine: &Engine, key: u64, value: &str) {
    let value = value.to_owned();
    engine
        .write("put", move |txn| TABLE.write(txn)?.put(&key.to_be_bytes(), value.as_bytes()))
        .await
        .unwrap();
}

async fn get(engine: &Engine, key: u64) -> Option<String> {
    let bytes = engine.read("get", move |txn| TABLE.read(txn)?.get(&key.to_be_bytes())).await.unwrap();
    bytes.map(|bytes| String::from_utf8(bytes).unwrap())
}

/// Holds the writer inside a job until told, so that a queue can build up behind it.
async fn hold(engine: &Engine) -> (mpsc::Sender<()>, tokio::task::JoinHandle<()>) {
    let (go, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let (entered, inside) = tokio::sync::oneshot::channel();
    let mut entered = Some(entered);
    let engine = engine.clone();
    let task = tokio::spawn(async move {
        engine
            .write("hold", move |_| {
                if let Some(entered) = entered.take() {
                    let _ = entered.send(());
                    let _ = held.lock().unwrap().recv();
                }
                Ok(())
            })
            .await
            .unwrap();
    });
    inside.await.unwrap();
    (go, task)
}

/// Queues `count` jobs while the writer is held, in their order.
async fn queue(engine: &Engine, count: usize) -> Vec<tokio::task::JoinHandle<usize>> {
    let mut tasks = Vec::new();
    for n in 0..count {
        let engine = engine.clone();
        tasks.push(tokio::spawn(async move {
            engine
                .write("queued", move |txn| {
                    let mut table = TABLE.write(txn)?;
                    let before = table.keys(..)?.count();
                    table.put(&(n as u64).to_be_bytes(), b"queued")?;
                    Ok(before)
                })
                .await
                .unwrap()
        }));
        // On one thread a task that is polled once is queued.
        tokio::task::yield_now().await;
    }
    tasks
}

#[tokio::test]
async fn what_waits_is_committed_together_and_in_order() {
    let fixture = Fixture::new();
    let engine = fixture.open();
    let (go, held) = hold(&engine).await;
    let tasks = queue(&engine, COMMIT_JOBS_MAX + 44).await;
    assert_eq!(engine.counts().commits_total, 0);
    go.send(()).unwrap();
    held.await.unwrap();
    for (n, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.await.unwrap(), n, "jobs run in the order in which they came");
    }
    // The held one, a full commit, the rest.
    assert_eq!(engine.counts().commits_total, 3);
    assert_eq!(engine.counts().jobs_total, 1 + COMMIT_JOBS_MAX as u64 + 44);
}

#[tokio::test]
async fn who_comes_to_a_full_queue_waits() {
    let fixture = Fixture::new();
    let engine = fixture.open();
    let (go, held) = hold(&engine).await;
    // The held job has given its place in the queue back only when it is done.
    let tasks = queue(&engine, QUEUE_JOBS_MAX - 1).await;
    let ran = Arc::new(AtomicUsize::new(0));
    let late = {
        let (engine, ran) = (engine.clone(), Arc::clone(&ran));
        tokio::spawn(async move {
            engine
                .write("late", move |_| {
                    ran.fetch_add(1, Ordering::SeqCst);
                    Ok(())
                })
                .await
                .unwrap();
        })
    };
    tokio::task::yield_now().await;
    // Taken back while it waits for a place, it never runs.
    late.abort();
    assert!(late.await.unwrap_err().is_cancelled());
    go.send(()).unwrap();
    held.await.unwrap();
    for task in tasks {
        task.await.unwrap();
    }
    engine.close().await.unwrap();
    assert_eq!(ran.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_job_that_fails_harms_no_other() {
    let fixture = Fixture::new();
    let engine = fixture.open();
    let (go, held) = hold(&engine).await;
    let tasks = queue(&engine, 10).await;
    let bad = {
        let engine = engine.clone();
        tokio::spawn(async move {
            engine
                .write("bad", |txn| {
                    TABLE.write(txn)?.put(&999_u64.to_be_bytes(), b"never")?;
                    Err::<(), _>(JobError::damaged("numbers", b"key", "on purpose"))
                })
                .await
        })
    };
    tokio::task::yield_now().await;
    let panics = {
        let engine = engine.clone();
        tokio::spawn(async move { engine.write::<(), _>("panics", |_| panic!("on purpose")).await })
    };
    tokio::task::yield_now().await;
    let after = queue(&engine, 5).await;
    go.send(()).unwrap();
    held.await.unwrap();
    for task in tasks {
        task.await.unwrap();
    }
    let error = bad.await.unwrap().expect_err("it fails");
    assert_eq!(error.kind, EngineErrorKind::Corrupt);
    assert!(error.to_string().contains("bad on") && error.to_string().contains("6b6579"), "{error}");
    let error = panics.await.unwrap().expect_err("it fails");
    assert_eq!(error.kind, EngineErrorKind::Corrupt);
    assert!(error.to_string().contains("on purpose"), "{error}");
    // What comes right after a panic may be told to try again.
    drop(after);
    assert_eq!(get(&engine, 999).await, None);
    for n in 0..10 {
        assert_eq!(get(&engine, n).await.as_deref(), Some("queued"));
    }
    until_writable(&engine).await;
    put(&engine, 1000, "after").await;
}

async fn until_writable(engine: &Engine) {
    let start = std::time::Instant::now();
    while let Err(error) = engine.probe().await {
        assert!(error.is_retryable(), "{error}");
        assert!(start.elapsed().as_secs() < 30, "{error}");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn closing_commits_what_is_queued() {
    let fixture = Fixture::new();
    let engine = fixture.open();
    let (go, held) = hold(&engine).await;
    let tasks = queue(&engine, 300).await;
    let closing = {
        let engine = engine.clone();
        tokio::spawn(async move { engine.close().await })
    };
    tokio::task::yield_now().await;
    go.send(()).unwrap();
    closing.await.unwrap().unwrap();
    held.await.unwrap();
    for task in tasks {
        task.await.unwrap();
    }
    let error = engine.write("late", |_| Ok(())).await.expect_err("it is closed");
    assert_eq!(error.kind, EngineErrorKind::Closed, "{error}");
    let error = engine.read("late", |_| Ok(())).await.expect_err("it is closed");
    assert_eq!(error.kind, EngineErrorKind::Closed, "{error}");
    engine.close().await.unwrap();
    let engine = fixture.open();
    assert_eq!(get(&engine, 299).await.as_deref(), Some("queued"));
}

#[tokio::test]
async fn dropping_commits_what_is_queued_too() {
    let fixture = Fixture::new();
    let engine = fixture.open();
    put(&engine, 1, "a").await;
    let (go, held) = hold(&engine).await;
    let tasks = queue(&engine, 20).await;
    go.send(()).unwrap();
    drop(engine);
    held.await.unwrap();
    for task in tasks {
        task.await.unwrap();
    }
    let engine = fixture.open();
    assert_eq!(get(&engine, 19).await.as_deref(), Some("queued"));
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_writers_and_readers_at_once() {
    let fixture = Fixture::new();
    let engine = fixture.open();
    put(&engine, u64::MAX, "first").await;
    let mut tasks = JoinSet::new();
    for writer in 0..16_u64 {
        let engine = engine.clone();
        tasks.spawn(async move {
            for n in 0..50 {
                let key = writer * 1000 + n;
                put(&engine, key, &key.to_string()).await;
                assert_eq!(get(&engine, key).await, Some(key.to_string()), "what is durable can be read");
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    assert!(engine.counts().commits_total < engine.counts().jobs_total, "{:?}", engine.counts());
}

#[tokio::test]
async fn a_value_that_was_changed_or_moved_is_damaged() {
    let fixture = Fixture::new();
    let engine = fixture.open();
    put(&engine, 1, "value").await;
    put(&engine, 2, "other").await;
    let raw = TableDefinition::<&[u8], &[u8]>::new("numbers");
    engine
        .write("damage", move |txn| {
            let mut table = txn.open_table(raw)?;
            let one = table.get(1_u64.to_be_bytes().as_slice())?.expect("it is there").value().to_vec();
            table.insert(2_u64.to_be_bytes().as_slice(), one.as_slice())?;
            table.insert(3_u64.to_be_bytes().as_slice(), [1_u8].as_slice())?;
            let mut flipped = one;
            flipped[5] ^= 1;
            table.insert(4_u64.to_be_bytes().as_slice(), flipped.as_slice())?;
            Ok(())
        })
        .await
        .unwrap();
    for key in 2..=4_u64 {
        let outcome = engine.read("get", move |txn| TABLE.read(txn)?.get(&key.to_be_bytes())).await;
        let error = outcome.expect_err("it is damaged");
        assert_eq!(error.kind, EngineErrorKind::Corrupt);
        assert!(error.to_string().contains("numbers"), "{error}");
        assert!(error.to_string().contains(&format!("{key:016x}")), "{error}");
    }
    assert_eq!(get(&engine, 1).await.as_deref(), Some("value"));
    let keys =
        engine.read("keys", |txn| TABLE.read(txn)?.keys(..)?.collect::<Result<Vec<_>, _>>()).await.unwrap();
    assert_eq!(keys.len(), 4, "keys can be listed past damage");
}

#[tokio::test]
async fn a_table_that_is_missing_is_refused() {
    let engine_fixture = Fixture::new();
    let engine = engine_fixture.open();
    let error = engine.read("get", |txn| TABLE.read(txn).map(|_| ())).await.expect_err("no such table");
    assert_eq!(error.kind, EngineErrorKind::Refused, "{error}");
    assert!(!error.is_retryable());
}

#[test]
fn opening_says_what_is_wrong() {
    let fixture = Fixture::new();
    let engine = fixture.open();
    let again = Engine::open(fixture.path(), &EngineOptions::default());
    assert!(matches!(again.expect_err("it is open"), OpenError::InUse(_)));
    drop(engine);

    let length = std::fs::metadata(fixture.path()).unwrap().len();
    std::fs::OpenOptions::new().write(true).open(fixture.path()).unwrap().set_len(length - 10).unwrap();
    let cut = Engine::open(fixture.path(), &EngineOptions::default()).expect_err("it was cut short");
    assert!(matches!(cut, OpenError::Corrupt { .. }), "{cut}");

    std::fs::write(fixture.path(), "something else entirely").unwrap();
    let foreign = Engine::open(fixture.path(), &EngineOptions::default()).expect_err("it is text");
    assert!(matches!(foreign, OpenError::Corrupt { .. }), "{foreign}");

    let missing = fixture.directory.path().join("no").join("such").join("directory.redb");
    let missing = Engine::open(missing, &EngineOptions::default()).expect_err("no directory");
    assert!(matches!(missing, OpenError::Io { .. }), "{missing}");
}

#[test]
fn a_creation_that_was_killed_is_begun_again() {
    let fixture = Fixture::new();
    std::fs::write(fixture.directory.path().join("engine.redb.new"), "torn").unwrap();
    drop(fixture.open());
    assert!(!fixture.directory.path().join("engine.redb.new").exists());
    drop(fixture.open());
}
