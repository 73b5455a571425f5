//! Questions about partitions and groups: blocking calls of the client, each with a bound, off the async threads.

use super::config;
use super::error::{kind_of, log_error};
use super::names::{Names, number};
use super::options::KafkaLogOptions;
use super::words::{Listening, Words};
use crate::error::{LogError, LogErrorKind};
use crate::port::Group;
use crate::record::{Offset, TopicPartition};
use rdkafka::Offset as KafkaOffset;
use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use readmark_domain::time::TimeMs;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Groups whose positions are asked for and whose client is kept. Roles are fewer; beyond it, all are let go.
const GROUPS_KEPT_MAX: usize = 32;

pub(super) type Client = BaseConsumer<Listening>;

/// Clients that ask and never join.
pub(super) struct Inspector {
    options: KafkaLogOptions,
    names: Names,
    words: Arc<Words>,
    /// Kafka answers for a group's positions only to a client that bears the group's name.
    groups: Mutex<BTreeMap<Group, Arc<Client>>>,
    partitions: Arc<Client>,
}

impl Inspector {
    pub(super) fn new(options: &KafkaLogOptions, names: &Names) -> Result<Self, LogError> {
        let words = Arc::new(Words::default());
        let partitions = config::reader(options)
            .create_with_context(Listening(Arc::clone(&words)))
            .map_err(|error| log_error("open a client", &error))?;
        Ok(Self {
            options: options.clone(),
            names: names.clone(),
            words,
            groups: Mutex::default(),
            partitions: Arc::new(partitions),
        })
    }

    fn of_group(&self, group: &Group) -> Result<Arc<Client>, LogError> {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = groups.get(group) {
            return Ok(Arc::clone(client));
        }
        if groups.len() >= GROUPS_KEPT_MAX {
            groups.clear();
        }
        let client: Client = config::consumer(&self.options, &group.0)
            .create_with_context(Listening(Arc::clone(&self.words)))
            .map_err(|error| log_error("open a client", &error))?;
        let client = Arc::new(client);
        groups.insert(group.clone(), Arc::clone(&client));
        Ok(client)
    }

    /// The oldest offset there and the next one.
    pub(super) async fn bounds(&self, partition: TopicPartition) -> Result<(Offset, Offset), LogError> {
        let (client, name) = (Arc::clone(&self.partitions), self.names.of(partition.topic).to_owned());
        let within = self.options.answer_within;
        let (start, end) = blocking("look up the bounds", move || {
            client.fetch_watermarks(&name, number(partition.partition), within)
        })
        .await
        .map_err(|error| self.explained(error, partition))?;
        Ok((u64::try_from(start).unwrap_or_default(), u64::try_from(end).unwrap_or_default()))
    }

    pub(super) async fn committed(
        &self,
        group: &Group,
        partition: TopicPartition,
    ) -> Result<Option<Offset>, LogError> {
        let client = self.of_group(group)?;
        let list = self.names.list([partition]);
        let within = self.options.answer_within;
        let answer =
            blocking("look up a group's position", move || client.committed_offsets(list, within)).await;
        match answer.and_then(|list| only("look up a group's position", &list)) {
            Ok(KafkaOffset::Offset(next)) => Ok(u64::try_from(next).ok()),
            Ok(_) => Ok(None),
            Err(error) => Err(self.explained(error, partition)),
        }
    }

    /// `None` when no record is as young.
    pub(super) async fn offset_for_time(
        &self,
        partition: TopicPartition,
        at: TimeMs,
    ) -> Result<Option<Offset>, LogError> {
        let client = Arc::clone(&self.partitions);
        // The brokers take negative times for words of their own, and zero is before every record.
        let list = self.names.positions([(partition, at.get())]);
        let within = self.options.answer_within;
        let answer = blocking("look up a time", move || client.offsets_for_times(list, within)).await;
        match answer.and_then(|list| only("look up a time", &list)) {
            Ok(KafkaOffset::Offset(offset)) => Ok(u64::try_from(offset).ok()),
            Ok(_) => Ok(None),
            Err(error) => Err(self.explained(error, partition)),
        }
    }

    fn explained(&self, mut error: LogError, partition: TopicPartition) -> LogError {
        if error.is_retryable() {
            error.detail.push_str(&self.words.suffix());
        }
        error.at_partition(partition)
    }
}

/// The answer for the one partition asked about. An element may carry an error while the call succeeds; its offset is
/// then what was asked, not an answer.
fn only(operation: &'static str, list: &TopicPartitionList) -> Result<KafkaOffset, LogError> {
    match list.elements().first() {
        Some(one) => match one.error() {
            Ok(()) => Ok(one.offset()),
            Err(error) => {
                let kind = error.rdkafka_error_code().map_or(LogErrorKind::Unavailable, kind_of);
                Err(LogError::new(operation, kind, error))
            }
        },
        None => Err(LogError::new(operation, LogErrorKind::Unavailable, "an empty answer")),
    }
}

/// Runs a blocking call of the client.
pub(super) async fn blocking<T: Send + 'static>(
    operation: &'static str,
    call: impl FnOnce() -> Result<T, KafkaError> + Send + 'static,
) -> Result<T, LogError> {
    match tokio::task::spawn_blocking(call).await {
        Ok(answer) => answer.map_err(|error| log_error(operation, &error)),
        // Only when the runtime ends.
        Err(join) => Err(LogError::new(operation, LogErrorKind::Unavailable, join)),
    }
}

/// Asks the cluster for the number of partitions of some topics. Asks in short steps: as soon as the client has said
/// why it can't connect, waiting longer tells nothing more.
pub(super) fn ask_partitions<C: rdkafka::ClientContext>(
    client: &rdkafka::client::Client<C>,
    words: &Words,
    names: &[String],
    options: &KafkaLogOptions,
) -> Result<BTreeMap<String, u32>, LogError> {
    const STEP: Duration = Duration::from_secs(1);
    let started = Instant::now();
    let metadata = loop {
        match client.fetch_metadata(None, STEP) {
            Ok(metadata) => break metadata,
            Err(error) => {
                if words.said_since(started) || started.elapsed() >= options.answer_within {
                    let kind = match log_error("probe", &error).kind {
                        LogErrorKind::Refused => LogErrorKind::Refused,
                        LogErrorKind::Unavailable | LogErrorKind::Corrupt | LogErrorKind::NotOwner => {
                            LogErrorKind::Unavailable
                        }
                    };
                    let detail = format!(
                        "the Kafka brokers at {} do not answer: {error}{}",
                        options.brokers,
                        words.suffix()
                    );
                    return Err(LogError::new("probe", kind, detail));
                }
            }
        }
    };
    let mut found = BTreeMap::new();
    for topic in metadata.topics() {
        if names.iter().any(|name| name == topic.name()) {
            found.insert(topic.name().to_owned(), u32::try_from(topic.partitions().len()).unwrap_or(0));
        }
    }
    Ok(found)
}
