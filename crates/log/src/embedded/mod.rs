//! The event log in one file: one process, a few partitions a topic, no replication. Durable means fsynced;
//! appends that wait together are synced together.

mod append;
mod codec;
mod consumer;
mod coordinator;
mod options;
mod positions;
mod read;
mod retention;
mod tails;

pub use crate::retention::{RetentionRule, default_retention};
pub use options::{
    APPENDING_BYTES_MAX, EmbeddedLogOptions, KEY_BYTES_MAX, Now, OpenLogError, PARTITIONS_MAX,
    POLL_BYTES_MAX, POLL_RECORDS_MAX, RECORD_BYTES_MAX, TRIM_RECORDS_MAX, WRITE_BYTES_MAX, WRITE_RECORDS_MAX,
};

use crate::error::{LogError, LogErrorKind};
use crate::port::{Consumer, EventLog, Group};
use crate::record::{NewRecord, Offset, Position, Record, TopicPartition};
use async_trait::async_trait;
use consumer::EmbeddedConsumer;
use coordinator::Coordinator;
use readmark_domain::time::TimeMs;
use readmark_embedded::{Engine, EngineError, EngineErrorKind, JobError, redb};
use readmark_events::Topic;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tails::Tails;
use tokio::sync::Semaphore;

/// An embedded event log; cheap to clone.
#[derive(Debug, Clone)]
pub struct EmbeddedLog {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    partitions: u32,
    now: Now,
    appending_bytes: Arc<Semaphore>,
    tails: Tails,
    coordinator: Mutex<Coordinator>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EmbeddedLog").field("path", &self.engine.path()).finish_non_exhaustive()
    }
}

impl EmbeddedLog {
    /// Opens the log in that file, or creates it. Without clients, also what inspects a log at rest.
    ///
    /// # Errors
    /// [`OpenLogError`].
    pub async fn open(path: impl Into<PathBuf>, options: EmbeddedLogOptions) -> Result<Self, OpenLogError> {
        let (path, engine_options) = (path.into(), options.engine.clone());
        let opened = tokio::task::spawn_blocking(move || Engine::open(path, &engine_options)).await;
        match opened {
            Ok(engine) => Self::on(engine?, options).await,
            Err(join) => std::panic::resume_unwind(join.into_panic()),
        }
    }

    /// Opens the log on an engine that is open.
    ///
    /// # Errors
    /// [`OpenLogError`].
    pub async fn on(engine: Engine, options: EmbeddedLogOptions) -> Result<Self, OpenLogError> {
        let asked = options.partitions;
        if !(1..=PARTITIONS_MAX).contains(&asked) {
            return Err(OpenLogError::Partitions(asked));
        }
        let stored = engine.write("open the event log", move |txn| prepare(txn, asked)).await?;
        if stored != asked {
            return Err(OpenLogError::PartitionCount { path: engine.path().to_owned(), stored, asked });
        }
        let tails = Tails::load(&engine).await?;
        Ok(Self {
            inner: Arc::new(Inner {
                engine,
                partitions: asked,
                now: options.now,
                appending_bytes: Arc::new(Semaphore::new(APPENDING_BYTES_MAX)),
                tails,
                coordinator: Mutex::new(Coordinator::new(asked, options.revoke_within)),
            }),
        })
    }

    /// Its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.inner.engine.path()
    }

    /// Makes what was appended durable and closes the file; later calls fail.
    ///
    /// # Errors
    /// [`LogError`] when the file could not be closed cleanly; what was acknowledged is safe even so.
    pub async fn close(&self) -> Result<(), LogError> {
        self.inner.engine.close().await.map_err(|error| log_error("close", &error))
    }
}

/// Creates the tables; gives the number of partitions that the log has.
fn prepare(txn: &redb::WriteTransaction, partitions: u32) -> Result<u32, JobError> {
    codec::RECORDS.write(txn)?;
    codec::PARTITIONS.write(txn)?;
    codec::POSITIONS.write(txn)?;
    let mut settings = codec::SETTINGS.write(txn)?;
    let key = codec::PARTITIONS_PER_TOPIC;
    let Some(stored) = settings.get(key)? else {
        settings.put(key, &partitions.to_be_bytes())?;
        return Ok(partitions);
    };
    let bytes = stored.first_chunk::<4>();
    bytes
        .map(|bytes| u32::from_be_bytes(*bytes))
        .ok_or_else(|| JobError::damaged("log_settings", key, "not a number of partitions"))
}

/// An engine's error as one of the log.
fn log_error(operation: &'static str, error: &EngineError) -> LogError {
    let kind = match error.kind {
        // A closed log is one whose process stops: what is asked of it must be asked of the next one.
        EngineErrorKind::Unavailable | EngineErrorKind::Closed => LogErrorKind::Unavailable,
        EngineErrorKind::Corrupt => LogErrorKind::Corrupt,
        EngineErrorKind::Refused => LogErrorKind::Refused,
    };
    LogError::new(operation, kind, error)
}

impl Inner {
    fn coordinator(&self) -> MutexGuard<'_, Coordinator> {
        self.coordinator.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, operation: &'static str, partition: TopicPartition) -> Result<(), LogError> {
        if partition.partition < self.partitions {
            return Ok(());
        }
        let detail = format!("a topic has {} partitions", self.partitions);
        Err(LogError::new(operation, LogErrorKind::Refused, detail).at_partition(partition))
    }
}

#[async_trait]
impl EventLog for EmbeddedLog {
    fn partitions(&self, _topic: Topic) -> u32 {
        self.inner.partitions
    }

    async fn append(&self, records: Vec<NewRecord>) -> Result<Vec<Position>, LogError> {
        append::append(&self.inner, records).await
    }

    async fn join(&self, group: &Group, topics: &[Topic]) -> Result<Box<dyn Consumer>, LogError> {
        Ok(Box::new(EmbeddedConsumer::join(Arc::clone(&self.inner), group, topics)))
    }

    async fn start_offset(&self, partition: TopicPartition) -> Result<Offset, LogError> {
        self.inner.check("start offset", partition)?;
        read::start_offset(&self.inner, partition).await
    }

    async fn end_offset(&self, partition: TopicPartition) -> Result<Offset, LogError> {
        self.inner.check("end offset", partition)?;
        self.inner.tails.refresh(&self.inner.engine).await?;
        Ok(self.inner.tails.end(partition))
    }

    async fn committed(&self, group: &Group, partition: TopicPartition) -> Result<Option<Offset>, LogError> {
        Ok(self.committed_all(group, &[partition]).await?.first().copied().flatten())
    }

    async fn committed_all(
        &self,
        group: &Group,
        partitions: &[TopicPartition],
    ) -> Result<Vec<Option<Offset>>, LogError> {
        for partition in partitions {
            self.inner.check("committed", *partition)?;
        }
        positions::committed(&self.inner, group, partitions.to_vec()).await
    }

    async fn offset_for_time(&self, partition: TopicPartition, at: TimeMs) -> Result<Offset, LogError> {
        self.inner.check("offset for time", partition)?;
        read::offset_for_time(&self.inner, partition, at).await
    }

    async fn read(
        &self,
        partition: TopicPartition,
        from: Offset,
        max_records: usize,
    ) -> Result<Vec<Record>, LogError> {
        self.inner.check("read", partition)?;
        read::read(&self.inner, vec![(partition, from)], max_records.min(POLL_RECORDS_MAX)).await
    }

    async fn probe(&self) -> Result<(), LogError> {
        self.inner.engine.probe().await.map_err(|error| log_error("probe", &error))
    }
}
