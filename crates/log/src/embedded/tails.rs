//! Ends of partitions, in memory: who waits for records is woken by them.

use super::codec::{PARTITIONS, PartitionRow, partition_key};
use super::log_error;
use crate::error::LogError;
use crate::record::{Offset, Position, TopicPartition};
use readmark_embedded::{Engine, EngineError};
use readmark_events::Topic;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use tokio::sync::watch;

pub struct Tails {
    ends: Mutex<BTreeMap<TopicPartition, Offset>>,
    /// After a failed append, which may have landed all the same.
    doubtful: AtomicBool,
    changes: watch::Sender<()>,
}

impl Tails {
    pub async fn load(engine: &Engine) -> Result<Self, EngineError> {
        Ok(Self {
            ends: Mutex::new(read_ends(engine).await?),
            doubtful: AtomicBool::new(false),
            changes: watch::Sender::new(()),
        })
    }

    pub fn end(&self, partition: TopicPartition) -> Offset {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).get(&partition).copied().unwrap_or(0)
    }

    /// Records are durable up to these.
    pub fn raise(&self, newest: &[Position]) {
        self.merge(newest.iter().map(|position| (position.partition, position.offset + 1)));
    }

    fn merge(&self, found: impl IntoIterator<Item = (TopicPartition, Offset)>) {
        {
            let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
            for (partition, end) in found {
                let known = ends.entry(partition).or_default();
                *known = end.max(*known);
            }
        }
        self.wake();
    }

    pub fn doubt(&self) {
        self.doubtful.store(true, Ordering::Release);
        self.wake();
    }

    /// Reads the ends again where they are in doubt.
    pub async fn refresh(&self, engine: &Engine) -> Result<(), LogError> {
        if self.doubtful.swap(false, Ordering::AcqRel) {
            match read_ends(engine).await {
                Ok(ends) => self.merge(ends),
                Err(error) => {
                    self.doubtful.store(true, Ordering::Release);
                    return Err(log_error("read the ends", &error));
                }
            }
        }
        Ok(())
    }

    /// Wakes everybody who waits: there are records, or a group has changed.
    pub fn wake(&self) {
        self.changes.send_replace(());
    }

    pub fn subscribe(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }
}

async fn read_ends(engine: &Engine) -> Result<BTreeMap<TopicPartition, Offset>, EngineError> {
    engine
        .read("read the ends", |txn| {
            let table = PARTITIONS.read(txn)?;
            let mut ends = BTreeMap::new();
            for topic in Topic::ALL {
                for partition in 0..super::PARTITIONS_MAX {
                    let partition = TopicPartition { topic, partition };
                    let key = partition_key(partition);
                    if let Some(row) = table.get_with(&key, |bytes| PartitionRow::decode(&key, bytes))? {
                        ends.insert(partition, row?.end);
                    }
                }
            }
            Ok(ends)
        })
        .await
}
