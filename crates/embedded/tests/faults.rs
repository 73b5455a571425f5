//! Disks that fail and recover.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

use readmark_embedded::redb::{BackendError, StorageBackend, backends::FileBackend};
use readmark_embedded::{Engine, EngineErrorKind, EngineOptions, SealedTable};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const TABLE: SealedTable = SealedTable::new("numbers");
const DEADLINE: Duration = Duration::from_secs(30);

/// What fails now, whichever handle is used.
#[derive(Debug, Default)]
struct Faults {
    writes: AtomicBool,
    syncs: AtomicBool,
    reads: AtomicBool,
    opening: AtomicBool,
    /// Syncs so far.
    synced_total: AtomicU64,
    /// Handles that are open now.
    open: AtomicU64,
}

#[derive(Debug)]
struct Faulty {
    file: FileBackend,
    faults: Arc<Faults>,
}

impl Faulty {
    fn check(flag: &AtomicBool, words: &'static str) -> Result<(), BackendError> {
        if flag.load(Ordering::SeqCst) {
            return Err(BackendError::Io(std::io::Error::new(std::io::ErrorKind::StorageFull, words)));
        }
        Ok(())
    }
}

impl StorageBackend for Faulty {
    fn len(&self) -> Result<u64, std::io::Error> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), std::io::Error> {
        Self::check(&self.faults.reads, "injected into a read")?;
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> Result<(), std::io::Error> {
        Self::check(&self.faults.writes, "injected into a write")?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> Result<(), std::io::Error> {
        Self::check(&self.faults.syncs, "injected into a sync")?;
        self.faults.synced_total.fetch_add(1, Ordering::SeqCst);
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), std::io::Error> {
        Self::check(&self.faults.writes, "injected into a write")?;
        self.file.write(offset, data)
    }

    fn close(&self) -> Result<(), std::io::Error> {
        self.faults.open.fetch_sub(1, Ordering::SeqCst);
        self.file.close()
    }
}

fn open(path: &Path, faults: &Arc<Faults>) -> Engine {
    let (file, faults) = (path.to_owned(), Arc::clone(faults));
    Engine::open_on(path, &EngineOptions { cache_bytes: 0, ..EngineOptions::default() }, move || {
        if faults.opening.load(Ordering::SeqCst) {
            return Err(std::io::Error::other("injected into opening"));
        }
        let file =
            std::fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&file)?;
        let before = faults.open.fetch_add(1, Ordering::SeqCst);
        assert_eq!(before, 0, "the spoilt handle is closed before another one is opened");
        Ok(Faulty {
            file: FileBackend::new(file).map_err(std::io::Error::other)?,
            faults: Arc::clone(&faults),
        })
    })
    .unwrap()
}

async fn put(engine: &Engine, key: u64) -> Result<(), readmark_embedded::EngineError> {
    engine.write("put", move |txn| TABLE.write(txn)?.put(&key.to_be_bytes(), &[7; 3000])).await
}

async fn keys(engine: &Engine) -> Vec<u64> {
    engine
        .read("keys", |txn| {
            let keys = TABLE.read(txn)?.keys(..)?.collect::<Result<Vec<_>, _>>()?;
            Ok(keys.iter().map(|key| u64::from_be_bytes(*key.first_chunk().expect("8 bytes"))).collect())
        })
        .await
        .unwrap()
}

/// Waits until the engine says by itself that it works again.
async fn until_well(engine: &Engine) {
    let start = Instant::now();
    while let Err(error) = engine.probe().await {
        assert!(error.is_retryable(), "{error}");
        assert!(start.elapsed() < DEADLINE, "still after {DEADLINE:?}: {error}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn survives(break_it: impl Fn(&Faults, bool)) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("engine.redb");
    let faults = Arc::new(Faults::default());
    let engine = open(&path, &faults);
    for key in 0..10 {
        put(&engine, key).await.unwrap();
    }
    break_it(&faults, true);
    let error = put(&engine, 10).await.expect_err("the disk fails");
    assert!(error.is_retryable(), "{error}");
    assert!(error.to_string().contains("injected"), "{error}");
    assert!(engine.probe().await.is_err());
    // Further calls are answered at once, not queued.
    for _ in 0..5 {
        assert_eq!(put(&engine, 11).await.expect_err("still").kind, EngineErrorKind::Unavailable);
    }
    break_it(&faults, false);
    until_well(&engine).await;
    assert!(engine.counts().reopened_total >= 1);
    put(&engine, 20).await.unwrap();
    let found = keys(&engine).await;
    assert!((0..10).all(|key| found.contains(&key)) && found.contains(&20), "{found:?}");
    engine.close().await.unwrap();
    let engine = open(&path, &faults);
    assert_eq!(keys(&engine).await, found);
}

#[tokio::test]
async fn writes_that_fail() {
    survives(|faults, on| faults.writes.store(on, Ordering::SeqCst)).await;
}

#[tokio::test]
async fn syncs_that_fail() {
    survives(|faults, on| faults.syncs.store(on, Ordering::SeqCst)).await;
}

#[tokio::test]
async fn a_disk_that_goes_away_altogether() {
    survives(|faults, on| {
        for fault in [&faults.writes, &faults.syncs, &faults.reads, &faults.opening] {
            fault.store(on, Ordering::SeqCst);
        }
    })
    .await;
}

#[tokio::test]
async fn a_read_that_fails_has_the_file_opened_again() {
    let directory = TempDir::new().unwrap();
    let faults = Arc::new(Faults::default());
    let engine = open(&directory.path().join("engine.redb"), &faults);
    for key in 0..100 {
        put(&engine, key).await.unwrap();
    }
    faults.reads.store(true, Ordering::SeqCst);
    let outcome = engine.read("scan", |txn| Ok(TABLE.read(txn)?.range(..)?.count())).await;
    let error = outcome.expect_err("the disk fails");
    assert!(error.is_retryable(), "{error}");
    faults.reads.store(false, Ordering::SeqCst);
    // Nobody writes: the engine must get well by itself.
    let start = Instant::now();
    while engine.counts().reopened_total == 0 {
        assert!(start.elapsed() < DEADLINE, "not opened again");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    until_well(&engine).await;
    assert_eq!(keys(&engine).await.len(), 100);
}

async fn put_relaxed(engine: &Engine, key: u64) {
    engine
        .write_relaxed("put", move |txn| TABLE.write(txn)?.put(&key.to_be_bytes(), &[7; 30]))
        .await
        .unwrap();
}

#[tokio::test]
async fn relaxed_writes_become_durable_by_themselves() {
    let directory = TempDir::new().unwrap();
    let faults = Arc::new(Faults::default());
    let engine = open(&directory.path().join("engine.redb"), &faults);
    put(&engine, 0).await.unwrap();
    let before = faults.synced_total.load(Ordering::SeqCst);
    for key in 1..=200 {
        put_relaxed(&engine, key).await;
        assert!(keys(&engine).await.contains(&key), "a relaxed write is seen at once");
    }
    let synced = faults.synced_total.load(Ordering::SeqCst) - before;
    assert!(synced < 100, "{synced} syncs for 200 relaxed writes");
    let start = Instant::now();
    let last = faults.synced_total.load(Ordering::SeqCst);
    put_relaxed(&engine, 201).await;
    while faults.synced_total.load(Ordering::SeqCst) == last {
        assert!(start.elapsed() < DEADLINE, "not synced");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn closing_makes_relaxed_writes_durable() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("engine.redb");
    let faults = Arc::new(Faults::default());
    let engine = open(&path, &faults);
    put_relaxed(&engine, 1).await;
    engine.close().await.unwrap();
    assert_eq!(keys(&open(&path, &faults)).await, [1]);
}

#[tokio::test]
async fn a_failing_disk_takes_back_only_relaxed_writes_and_says_so() {
    let directory = TempDir::new().unwrap();
    let faults = Arc::new(Faults::default());
    let engine = open(&directory.path().join("engine.redb"), &faults);
    put(&engine, 1).await.unwrap();
    put_relaxed(&engine, 2).await;
    faults.syncs.store(true, Ordering::SeqCst);
    put(&engine, 3).await.expect_err("the disk fails");
    faults.syncs.store(false, Ordering::SeqCst);
    until_well(&engine).await;
    assert!(engine.counts().reopened_total >= 1);
    assert!(keys(&engine).await.contains(&1));
}

/// Set for the child process that has a mount namespace of its own.
const CHILD_MOUNT: &str = "READMARK_TEST_CHILD_MOUNT";

/// Not a test of its own: fills the small file system at the path given.
#[test]
fn full_disk_child() {
    let Ok(mount) = std::env::var(CHILD_MOUNT) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mount = Path::new(&mount);
        let ballast = mount.join("ballast");
        std::fs::write(&ballast, vec![0; 2 * 1024 * 1024]).unwrap();
        let engine = Engine::open(mount.join("engine.redb"), &EngineOptions::default()).unwrap();
        let mut acknowledged = Vec::new();
        let error = loop {
            let key = acknowledged.len() as u64;
            match put(&engine, key).await {
                Ok(()) => acknowledged.push(key),
                Err(error) => break error,
            }
            assert!(acknowledged.len() < 10_000, "the disk never gets full");
        };
        assert!(error.is_retryable(), "{error}");
        assert!(error.to_string().contains("space"), "{error}");
        assert!(acknowledged.len() > 10, "{} were taken", acknowledged.len());
        assert!(keys(&engine).await.starts_with(&acknowledged), "reads go on while the disk is full");
        std::fs::remove_file(&ballast).unwrap();
        until_well(&engine).await;
        for key in 0..100 {
            put(&engine, 100_000 + key).await.unwrap();
        }
        let found = keys(&engine).await;
        assert!(acknowledged.iter().all(|key| found.contains(key)));
        engine.close().await.unwrap();
        println!("FULL DISK SURVIVED");
    });
}

/// A real full disk: a small file system in a mount namespace of a child. Where the system does not permit
/// that, the injected faults above stand for it, and this says so.
#[test]
fn a_disk_that_is_full_for_real() {
    let directory = TempDir::new().unwrap();
    let script = r#"mount -t tmpfs -o size=4m tmpfs "$1" || exit 77; shift; exec "$@""#;
    let output = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", script, "sh"])
        .arg(directory.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "full_disk_child", "--nocapture"])
        .env(CHILD_MOUNT, directory.path())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => return eprintln!("not run: no unshare here ({error})"),
    };
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(77) || err.contains("unshare:") {
        return eprintln!("not run: no mount namespace permitted here ({err})");
    }
    assert!(output.status.success() && out.contains("FULL DISK SURVIVED"), "{out}\n{err}");
}
