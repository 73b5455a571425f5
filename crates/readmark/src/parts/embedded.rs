//! Log and store in one data directory.

use super::Now;
use crate::config::{Config, StoreKind};
use crate::exit::Failure;
use readmark_embedded::{DataDir, Engine, EngineOptions};
use readmark_events::Topic;
use readmark_log::embedded::{EmbeddedLog, EmbeddedLogOptions, default_retention};
use readmark_log::{EventLog, TopicPartition};
use readmark_runtime::clock::{Clock, SystemClock};
use readmark_store::embedded::EmbeddedStore;
use tokio_util::sync::CancellationToken;

/// Pause between two rounds of housekeeping.
const HOUSEKEEPING_EVERY_MS: u64 = 3_600_000;
/// Expired rows taken away in one transaction, so that other writes wait only briefly.
const SWEPT_PER_TRANSACTION: usize = 4_096;

/// The embedded store and the engine under it.
pub(super) struct EmbeddedStorePart {
    pub store: EmbeddedStore,
    pub engine: Engine,
}

/// Opens the log's file; one file without the other is refused.
pub(super) async fn open_log(data_dir: &DataDir, config: &Config, now: Now) -> Result<EmbeddedLog, Failure> {
    if data_dir.store_file().exists()
        && !data_dir.log_file().exists()
        && config.store.kind == StoreKind::Embedded
    {
        return Err(incomplete(data_dir, "log.redb"));
    }
    let options =
        EmbeddedLogOptions { partitions: config.log.partitions, now, ..EmbeddedLogOptions::default() };
    EmbeddedLog::open(data_dir.log_file(), options).await.map_err(Failure::failed)
}

/// A log with records needs the store that they were merged into.
pub(super) async fn check_complete(
    data_dir: &DataDir,
    log: &EmbeddedLog,
    had_store: bool,
) -> Result<(), Failure> {
    if !had_store && has_records(log).await? {
        return Err(incomplete(data_dir, "store.redb"));
    }
    Ok(())
}

/// Opens the store's file.
pub(super) async fn open_store(
    data_dir: &DataDir,
    config: &Config,
    now: Now,
) -> Result<EmbeddedStorePart, Failure> {
    let options = EngineOptions {
        cache_bytes: config.store.cache_mib as usize * 1024 * 1024,
        ..EngineOptions::default()
    };
    let file = data_dir.store_file();
    let opened = tokio::task::spawn_blocking(move || Engine::open(file, &options)).await;
    let engine = opened.map_err(Failure::failed)?.map_err(Failure::failed)?;
    let store = EmbeddedStore::open(engine.clone(), now).await.map_err(Failure::failed)?;
    Ok(EmbeddedStorePart { store, engine })
}

/// Takes away by the hour what is no longer kept.
pub(super) async fn keep_house(
    log: Option<EmbeddedLog>,
    store: Option<EmbeddedStore>,
    keep_ms: u64,
    clock: SystemClock,
    stop: CancellationToken,
) {
    let rules = default_retention(keep_ms);
    while !stop.is_cancelled() {
        if let Some(log) = &log
            && let Err(error) = log.retain(&rules, clock.now()).await
        {
            tracing::warn!(%error, "old records were not removed");
        }
        if let Some(store) = &store {
            sweep(store, clock, &stop).await;
        }
        tokio::select! {
            () = clock.sleep_ms(HOUSEKEEPING_EVERY_MS) => {}
            () = stop.cancelled() => {}
        }
    }
}

/// One file without the other would answer "0 unread" for what is lost. The log is made first, so that a first
/// start that was cut off leaves an empty log without a store.
fn incomplete(data_dir: &DataDir, missing: &str) -> Failure {
    Failure::failed(format!(
        "the data directory {} has lost {missing}: restore the directory from a backup, or start with a new one",
        data_dir.path().display()
    ))
}

async fn has_records(log: &EmbeddedLog) -> Result<bool, Failure> {
    for topic in Topic::ALL {
        for partition in 0..log.partitions(topic) {
            let end = log.end_offset(TopicPartition { topic, partition }).await.map_err(Failure::failed)?;
            if end > 0 {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

async fn sweep(store: &EmbeddedStore, clock: SystemClock, stop: &CancellationToken) {
    while !stop.is_cancelled() {
        match store.sweep(clock.now(), SWEPT_PER_TRANSACTION).await {
            Ok(swept) if swept.more => {}
            Ok(_) => return,
            Err(error) => {
                tracing::warn!(%error, "expired rows were not removed");
                return;
            }
        }
    }
}
