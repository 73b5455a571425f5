//! The embedded parts: a data directory with the log and the store.

use crate::config::Config;
use crate::exit::Failure;
use rand::TryRngCore;
use rand::rngs::OsRng;
use readmark_embedded::{DataDir, Engine, EngineOptions};
use readmark_events::Topic;
use readmark_log::embedded::{EmbeddedLog, EmbeddedLogOptions, default_retention};
use readmark_log::{EventLog, TopicPartition};
use readmark_runtime::clock::{Clock, SystemClock};
use readmark_runtime::ports::Ports;
use readmark_store::embedded::EmbeddedStore;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Bytes of a new secret: as many as HS256 has bits of hash.
const SECRET_BYTES: usize = 32;
/// Pause between two rounds of housekeeping.
const HOUSEKEEPING_EVERY_MS: u64 = 3_600_000;
/// Expired rows taken away in one transaction, so that other writes wait only briefly.
const SWEPT_PER_TRANSACTION: usize = 4_096;

/// Log and store of one data directory.
pub(crate) struct Parts {
    pub data_dir: DataDir,
    log: EmbeddedLog,
    store: EmbeddedStore,
    store_engine: Engine,
    clock: SystemClock,
}

impl Parts {
    /// Opens them, or makes new ones where nothing is.
    pub async fn open(config: &Config) -> Result<Self, Failure> {
        let data_dir = DataDir::open(&config.data_dir).map_err(Failure::failed)?;
        let clock = SystemClock::default();
        let now: Arc<dyn Fn() -> readmark_domain::time::TimeMs + Send + Sync> = Arc::new(move || clock.now());
        let log_options = EmbeddedLogOptions {
            partitions: config.log.partitions,
            now: now.clone(),
            ..EmbeddedLogOptions::default()
        };
        let (had_log, had_store) = (data_dir.log_file().exists(), data_dir.store_file().exists());
        if had_store && !had_log {
            return Err(incomplete(&data_dir, "log.redb"));
        }
        let log = EmbeddedLog::open(data_dir.log_file(), log_options).await.map_err(Failure::failed)?;
        if !had_store && has_records(&log).await? {
            return Err(incomplete(&data_dir, "store.redb"));
        }
        let engine_options = EngineOptions {
            cache_bytes: config.store.cache_mib as usize * 1024 * 1024,
            ..EngineOptions::default()
        };
        let store_file = data_dir.store_file();
        let opened = tokio::task::spawn_blocking(move || Engine::open(store_file, &engine_options)).await;
        let store_engine = opened.map_err(Failure::failed)?.map_err(Failure::failed)?;
        let store = EmbeddedStore::open(store_engine.clone(), now).await.map_err(Failure::failed)?;
        Ok(Self { data_dir, log, store, store_engine, clock })
    }

    /// As the roles see them.
    pub fn ports(&self) -> Ports {
        Ports {
            log: Arc::new(self.log.clone()),
            store: Arc::new(self.store.clone()),
            clock: Arc::new(self.clock),
        }
    }

    /// The directory's own secret, made at the first start.
    pub fn secret(&self) -> Result<Vec<u8>, Failure> {
        let file = self.data_dir.secret_file();
        if !file.exists() {
            make_secret(&file).map_err(|error| {
                Failure::failed(format!("the secret {} can't be made: {error}", file.display()))
            })?;
        }
        readmark_http::auth::read_secret(&file).map_err(Failure::failed)
    }

    /// Closes both files; what was acknowledged is durable in any case.
    pub async fn close(self) -> Result<(), Failure> {
        let log = self.log.close().await.map_err(Failure::failed);
        let store = self.store_engine.close().await.map_err(Failure::failed);
        log.and(store)
    }

    /// Takes away by the hour what is no longer kept, until `stop`.
    pub fn keep_house(
        &self,
        config: &Config,
        stop: CancellationToken,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (log, store, clock) = (self.log.clone(), self.store.clone(), self.clock);
        let rules = default_retention(config.rules().retention.keep_ms);
        async move {
            while !stop.is_cancelled() {
                if let Err(error) = log.retain(&rules, clock.now()).await {
                    tracing::warn!(%error, "old records were not removed");
                }
                sweep(&store, clock, &stop).await;
                tokio::select! {
                    () = clock.sleep_ms(HOUSEKEEPING_EVERY_MS) => {}
                    () = stop.cancelled() => {}
                }
            }
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

/// Written beside and renamed, so that a crash never leaves half a secret.
fn make_secret(file: &Path) -> std::io::Result<()> {
    let mut bytes = [0_u8; SECRET_BYTES];
    OsRng.try_fill_bytes(&mut bytes).map_err(std::io::Error::other)?;
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let unfinished = file.with_extension("new");
    let mut out = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    out.write_all(text.as_bytes())?;
    out.sync_all()?;
    std::fs::rename(&unfinished, file)
}
