//! Questions about partitions and groups: blocking calls of the client, each with a bound, off the async threads.

use super::config;
use super::error::{code_of, log_error};
use super::names::{Names, number};
use super::options::KafkaLogOptions;
use super::rights;
use super::words::{Listening, Words};
use crate::error::{LogError, LogErrorKind};
use crate::port::Group;
use crate::record::{Offset, TopicPartition};
use rdkafka::Offset as KafkaOffset;
use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
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
        let asking = Asking { operation: "look up the bounds", needs: rights::on_topic("Describe", &name) };
        let (start, end) =
            blocking(&asking, move || client.fetch_watermarks(&name, number(partition.partition), within))
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
        let asking = Asking {
            operation: "look up a group's position",
            needs: format!(
                "{} and {}",
                rights::on_group("Describe", &group.0),
                rights::on_topic("Describe", self.names.of(partition.topic))
            ),
        };
        let answer = blocking(&asking, move || ask_positions(&client, &list, within)).await;
        match answer.and_then(|list| only(&asking, &list)) {
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
        let needs = rights::on_topic("Describe", self.names.of(partition.topic));
        let asking = Asking { operation: "look up a time", needs };
        let answer = blocking(&asking, move || client.offsets_for_times(list, within)).await;
        match answer.and_then(|list| only(&asking, &list)) {
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

/// Asks for the positions of the client's group, in short steps: for want of a right the library asks the brokers again
/// and again, and says so only to who polls.
fn ask_positions(
    client: &Client,
    list: &TopicPartitionList,
    within: Duration,
) -> Result<TopicPartitionList, KafkaError> {
    const STEP: Duration = Duration::from_secs(1);
    let deadline = Instant::now() + within;
    loop {
        let error = match client.committed_offsets(list.clone(), STEP.min(within)) {
            Ok(positions) => return Ok(positions),
            Err(error) => error,
        };
        while let Some(Err(said)) = client.poll(Duration::ZERO) {
            if code_of(&said).is_some_and(rights::is_missing) {
                return Err(said);
            }
        }
        let is_late = code_of(&error) == Some(RDKafkaErrorCode::OperationTimedOut);
        if !is_late || Instant::now() >= deadline {
            return Err(error);
        }
    }
}

/// A question, and what a client must be allowed to do to ask it.
struct Asking {
    operation: &'static str,
    needs: String,
}

impl Asking {
    fn failed(&self, error: &KafkaError) -> LogError {
        rights::explained(log_error(self.operation, error), code_of(error), || self.needs.clone())
    }
}

/// The answer for the one partition asked about. An element may carry an error while the call succeeds; its offset is
/// then what was asked, not an answer.
fn only(asking: &Asking, list: &TopicPartitionList) -> Result<KafkaOffset, LogError> {
    match list.elements().first() {
        Some(one) => one.error().map(|()| one.offset()).map_err(|error| asking.failed(&error)),
        None => Err(LogError::new(asking.operation, LogErrorKind::Unavailable, "an empty answer")),
    }
}

/// Runs a blocking call of the client.
async fn blocking<T: Send + 'static>(
    asking: &Asking,
    call: impl FnOnce() -> Result<T, KafkaError> + Send + 'static,
) -> Result<T, LogError> {
    match tokio::task::spawn_blocking(call).await {
        Ok(answer) => answer.map_err(|error| asking.failed(&error)),
        // Only when the runtime ends.
        Err(join) => Err(LogError::new(asking.operation, LogErrorKind::Unavailable, join)),
    }
}
