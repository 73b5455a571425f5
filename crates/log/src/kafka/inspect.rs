//! Questions about partitions and groups: blocking calls of the client, each with a bound, off the async threads.

use super::config;
use super::error::{code_of, log_error};
use super::names::{Names, absolute, number, raw};
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
use rdkafka::topic_partition_list::TopicPartitionListElem;
use readmark_domain::time::TimeMs;
use readmark_events::Topic;
use std::collections::{BTreeMap, BTreeSet};
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

    /// The oldest offset and the next one of many partitions, in two questions.
    pub(super) async fn bounds_all(
        &self,
        partitions: &[TopicPartition],
    ) -> Result<Vec<(Offset, Offset)>, LogError> {
        let starts = self.at_times(partitions, KafkaOffset::Beginning).await?;
        let ends = self.at_times(partitions, KafkaOffset::End).await?;
        let both = starts.into_iter().zip(ends);
        Ok(both.map(|(start, end)| (start.unwrap_or_default(), end.unwrap_or_default())).collect())
    }

    /// The positions of a group, in one question; `None` where it has none.
    pub(super) async fn committed(
        &self,
        group: &Group,
        partitions: &[TopicPartition],
    ) -> Result<Vec<Option<Offset>>, LogError> {
        let client = self.of_group(group)?;
        let list = self.names.list(partitions.iter().copied());
        let within = self.options.answer_within;
        let asking = Asking {
            operation: "look up a group's positions",
            needs: format!(
                "{} and {}",
                rights::on_group("Describe", &group.0),
                self.needs_on("Describe", partitions)
            ),
        };
        let answer = blocking(&asking, move || ask_positions(&client, &list, within)).await;
        self.answers(&asking, partitions, answer)
    }

    /// The first offset whose record is as young; `None` where none is.
    pub(super) async fn offset_for_time(
        &self,
        partition: TopicPartition,
        at: TimeMs,
    ) -> Result<Option<Offset>, LogError> {
        // The brokers take negative times for words of their own, and zero is before every record.
        let at = KafkaOffset::Offset(raw(at.get()));
        Ok(self.at_times(&[partition], at).await?.first().copied().flatten())
    }

    /// Asks for offsets by time, or by one of the words that stand for a time.
    async fn at_times(
        &self,
        partitions: &[TopicPartition],
        at: KafkaOffset,
    ) -> Result<Vec<Option<Offset>>, LogError> {
        let client = Arc::clone(&self.partitions);
        let asking = Asking { operation: "look up offsets", needs: self.needs_on("Describe", partitions) };
        let mut list = self.names.list(partitions.iter().copied());
        list.set_all_offsets(at).map_err(|error| asking.failed(&error))?;
        let within = self.options.answer_within;
        let answer = blocking(&asking, move || client.offsets_for_times(list, within)).await;
        self.answers(&asking, partitions, answer)
    }

    /// The answers for the partitions asked about, in their order. An element may carry an error while the call succeeds;
    /// its offset is then what was asked, not an answer.
    fn answers(
        &self,
        asking: &Asking,
        asked: &[TopicPartition],
        answer: Result<TopicPartitionList, LogError>,
    ) -> Result<Vec<Option<Offset>>, LogError> {
        let explained = |error: LogError| match asked {
            [only] => self.explained(error, *only),
            _ => self.with_words(error),
        };
        let list = answer.map_err(explained)?;
        let (elements, mut offsets) = (list.elements(), Vec::with_capacity(asked.len()));
        for (at, partition) in asked.iter().enumerate() {
            let name = self.names.of(partition.topic);
            let is_it = |one: &&TopicPartitionListElem<'_>| {
                one.topic() == name && one.partition() == number(partition.partition)
            };
            let Some(element) = elements.get(at).filter(is_it) else {
                let detail = "the answer leaves it out";
                return Err(LogError::new(asking.operation, LogErrorKind::Unavailable, detail)
                    .at_partition(*partition));
            };
            element.error().map_err(|error| self.explained(asking.failed(&error), *partition))?;
            offsets.push(absolute(element.offset()));
        }
        Ok(offsets)
    }

    fn needs_on(&self, right: &str, partitions: &[TopicPartition]) -> String {
        let topics: BTreeSet<Topic> = partitions.iter().map(|partition| partition.topic).collect();
        let needs: Vec<String> =
            topics.into_iter().map(|topic| rights::on_topic(right, self.names.of(topic))).collect();
        needs.join(", ")
    }

    fn explained(&self, error: LogError, partition: TopicPartition) -> LogError {
        self.with_words(error).at_partition(partition)
    }

    fn with_words(&self, mut error: LogError) -> LogError {
        if error.is_retryable() {
            error.detail.push_str(&self.words.suffix());
        }
        error
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
