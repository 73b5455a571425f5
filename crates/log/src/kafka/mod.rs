//! The event log on Apache Kafka.
//!
//! `docs/kafka.md` says which settings are used and why.

mod append;
mod brokers;
mod config;
mod consumer;
mod coverage;
mod error;
mod handover;
mod inspect;
mod instance;
mod member;
mod metadata;
mod names;
mod options;
mod read;
mod rights;
mod topics;
mod words;

pub use brokers::count_brokers;
pub use options::{
    APPENDING_BYTES_MAX, KafkaLogOptions, POLL_BYTES_MAX, POLL_RECORDS_MAX, Producing, RECORD_BYTES_MAX,
    WAITING_BYTES_MAX, WAITING_RECORDS_MAX,
};
pub use topics::{
    Remedy, TopicFinding, TopicPlan, TopicReport, TopicSizing, check_topics, create_topics, delete_topics,
    setup_topics,
};

use crate::error::{LogError, LogErrorKind};
use crate::port::{Consumer, EventLog, Group};
use crate::record::{NewRecord, Offset, Position, Record, TopicPartition};
use append::Producer;
use async_trait::async_trait;
use consumer::KafkaConsumer;
use inspect::Inspector;
use instance::Instances;
use metadata::ClusterMetadata;
use names::Names;
use rdkafka::producer::Producer as _;
use read::Readers;
use readmark_domain::time::TimeMs;
use readmark_events::Topic;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The event log on a Kafka cluster; cheap to clone.
#[derive(Clone)]
pub struct KafkaLog {
    cluster: Arc<Cluster>,
    producer: Arc<Producer>,
}

struct Cluster {
    options: KafkaLogOptions,
    names: Names,
    partitions: BTreeMap<Topic, u32>,
    inspector: Inspector,
    readers: Readers,
    instances: Instances,
}

impl std::fmt::Debug for KafkaLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KafkaLog").field("options", &self.cluster.options).finish_non_exhaustive()
    }
}

impl KafkaLog {
    /// Opens the log: asks the cluster for its topics, all of which must be there, with one number of partitions, and
    /// none of them compacted.
    ///
    /// # Errors
    /// [`LogErrorKind::Unavailable`] when no broker answers, with what the client says about it: a wrong address,
    /// password or certificate shows only there. [`LogErrorKind::Refused`] when a setting is wrong, a right is missing,
    /// or a topic is not there or not as it must be.
    pub async fn open(options: KafkaLogOptions) -> Result<Self, LogError> {
        let names = Names::new(&options.topic_prefix);
        let producer = Arc::new(Producer::new(&options, options.producing)?);
        let partitions = topics::partition_counts(&options, &names, &ask(&producer, &options).await?)?;
        topics::check_settings(&options, &names).await?;
        let cluster = Cluster {
            inspector: Inspector::new(&options, &names)?,
            readers: Readers::new(&options, &names),
            instances: Instances::default(),
            options,
            names,
            partitions,
        };
        Ok(Self { cluster: Arc::new(cluster), producer })
    }

    /// The same log with a producer of another temper, for the part of a process that needs one.
    ///
    /// # Errors
    /// [`LogErrorKind::Refused`] when the producer can't be made of the settings.
    pub fn with_producing(&self, producing: Producing) -> Result<Self, LogError> {
        let producer = Producer::new(&self.cluster.options, producing)?;
        Ok(Self { cluster: Arc::clone(&self.cluster), producer: Arc::new(producer) })
    }

    fn check(&self, operation: &'static str, partition: TopicPartition) -> Result<(), LogError> {
        let count = self.partitions(partition.topic);
        if partition.partition < count {
            return Ok(());
        }
        let detail = format!("the topic has {count} partitions");
        Err(LogError::new(operation, LogErrorKind::Refused, detail).at_partition(partition))
    }

    fn check_all(&self, operation: &'static str, partitions: &[TopicPartition]) -> Result<(), LogError> {
        partitions.iter().try_for_each(|partition| self.check(operation, *partition))
    }
}

async fn ask(producer: &Arc<Producer>, options: &KafkaLogOptions) -> Result<ClusterMetadata, LogError> {
    let (producer, options) = (Arc::clone(producer), options.clone());
    metadata::ask_blocking(move || metadata::ask(producer.client().client(), &producer.words, &options)).await
}

#[async_trait]
impl EventLog for KafkaLog {
    fn partitions(&self, topic: Topic) -> u32 {
        self.cluster.partitions.get(&topic).copied().unwrap_or(0)
    }

    async fn append(&self, records: Vec<NewRecord>) -> Result<Vec<Position>, LogError> {
        let placed = records
            .into_iter()
            .map(|record| {
                let partition = self.partition_of(record.topic, &record.key);
                (TopicPartition { topic: record.topic, partition }, record)
            })
            .collect();
        self.producer.append(&self.cluster.names, placed).await
    }

    async fn join(&self, group: &Group, topics: &[Topic]) -> Result<Box<dyn Consumer>, LogError> {
        let cluster = &self.cluster;
        let of = |topic: &Topic| {
            let (topic, count) = (*topic, cluster.partitions.get(topic).copied().unwrap_or_default());
            (0..count).map(move |partition| TopicPartition { topic, partition })
        };
        let partitions = topics.iter().flat_map(of).collect();
        let lease = cluster.options.instance_id.as_ref().map(|id| cluster.instances.lease(group, id));
        let consumer = KafkaConsumer::join(&cluster.options, &cluster.names, &group.0, partitions, lease)?;
        Ok(Box::new(consumer))
    }

    async fn start_offset(&self, partition: TopicPartition) -> Result<Offset, LogError> {
        self.check("look up the start", partition)?;
        Ok(self.cluster.inspector.bounds(partition).await?.0)
    }

    async fn end_offset(&self, partition: TopicPartition) -> Result<Offset, LogError> {
        self.check("look up the end", partition)?;
        Ok(self.cluster.inspector.bounds(partition).await?.1)
    }

    async fn committed(&self, group: &Group, partition: TopicPartition) -> Result<Option<Offset>, LogError> {
        Ok(self.committed_all(group, &[partition]).await?.first().copied().flatten())
    }

    async fn bounds(&self, partitions: &[TopicPartition]) -> Result<Vec<(Offset, Offset)>, LogError> {
        self.check_all("look up offsets", partitions)?;
        if partitions.is_empty() {
            return Ok(Vec::new());
        }
        self.cluster.inspector.bounds_all(partitions).await
    }

    async fn committed_all(
        &self,
        group: &Group,
        partitions: &[TopicPartition],
    ) -> Result<Vec<Option<Offset>>, LogError> {
        self.check_all("look up a group's positions", partitions)?;
        if partitions.is_empty() {
            return Ok(Vec::new());
        }
        self.cluster.inspector.committed(group, partitions).await
    }

    async fn offset_for_time(&self, partition: TopicPartition, at: TimeMs) -> Result<Offset, LogError> {
        self.check("look up a time", partition)?;
        match self.cluster.inspector.offset_for_time(partition, at).await? {
            Some(offset) => Ok(offset),
            None => self.end_offset(partition).await,
        }
    }

    async fn read(
        &self,
        partition: TopicPartition,
        from: Offset,
        max_records: usize,
    ) -> Result<Vec<Record>, LogError> {
        self.check("read", partition)?;
        let (start, end) = self.cluster.inspector.bounds(partition).await?;
        let from = from.max(start);
        if from >= end || max_records == 0 {
            return Ok(Vec::new());
        }
        let cluster = Arc::clone(&self.cluster);
        let reading =
            tokio::task::spawn_blocking(move || cluster.readers.read(partition, from, end, max_records));
        match reading.await {
            Ok(records) => records,
            Err(join) => Err(LogError::new("read", LogErrorKind::Unavailable, join).at_partition(partition)),
        }
    }

    async fn probe(&self) -> Result<(), LogError> {
        ask(&self.producer, &self.cluster.options).await.map(drop)
    }
}
