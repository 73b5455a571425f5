//! Which brokers and topics there are. Blocking calls of the client, each with a bound, off the async threads.

use super::config;
use super::error::{kind_of, log_error};
use super::names::Names;
use super::options::KafkaLogOptions;
use super::rights;
use super::words::{Listening, Words};
use crate::error::{LogError, LogErrorKind};
use rdkafka::ClientContext;
use rdkafka::client::Client;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::metadata::{Metadata, MetadataTopic};
use rdkafka::producer::{Producer as _, ThreadedProducer};
use readmark_events::Topic;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Asks in short steps: as soon as the client has said why it can't connect, waiting longer tells nothing more.
const STEP: Duration = Duration::from_secs(1);

/// Words of the client that say well enough why it can't connect. Others tell only that the other end hung up, sent what no
/// Kafka sends, or nothing.
const PLAIN_REASONS: [&str; 4] = ["Connect to", "resolve", "SASL", "SSL"];

/// The brokers that are there, and of each topic of the installation the replicas of its partitions.
#[derive(Debug, Default)]
pub(super) struct ClusterMetadata {
    pub brokers: Vec<i32>,
    pub topics: BTreeMap<String, Vec<Vec<i32>>>,
}

/// A client that asks, and hears at once why a connection fails: of all clients only a producer has a thread that listens.
/// It sends nothing.
pub(super) struct Asker {
    client: ThreadedProducer<Listening>,
    words: Arc<Words>,
}

impl Asker {
    pub(super) fn new(options: &KafkaLogOptions) -> Result<Arc<Self>, LogError> {
        let words = Arc::new(Words::default());
        let client = config::client(options)
            .create_with_context(Listening(Arc::clone(&words)))
            .map_err(|error| log_error("open a client", &error))?;
        Ok(Arc::new(Self { client, words }))
    }

    /// What it has been told.
    pub(super) const fn words(&self) -> &Arc<Words> {
        &self.words
    }

    /// The topics of the installation, as [`ask`] does.
    pub(super) async fn topics(
        self: &Arc<Self>,
        options: &KafkaLogOptions,
    ) -> Result<ClusterMetadata, LogError> {
        let (asker, options) = (Arc::clone(self), options.clone());
        ask_blocking(move || ask(asker.client.client(), &asker.words, &options)).await
    }

    /// How many brokers there are.
    pub(super) async fn brokers(self: &Arc<Self>, options: &KafkaLogOptions) -> Result<usize, LogError> {
        let (asker, options) = (Arc::clone(self), options.clone());
        ask_blocking(move || Ok(all(asker.client.client(), &asker.words, &options)?.brokers().len())).await
    }
}

/// Runs a question on a thread that may block.
pub(super) async fn ask_blocking<T: Send + 'static>(
    question: impl FnOnce() -> Result<T, LogError> + Send + 'static,
) -> Result<T, LogError> {
    match tokio::task::spawn_blocking(question).await {
        Ok(answer) => answer,
        // Only when the runtime ends.
        Err(join) => Err(LogError::new("probe", LogErrorKind::Unavailable, join)),
    }
}

/// Asks the cluster for the topics of the installation. Those that are not there are left out.
pub(super) fn ask<C: ClientContext>(
    client: &Client<C>,
    words: &Words,
    options: &KafkaLogOptions,
) -> Result<ClusterMetadata, LogError> {
    let names = Names::new(&options.topic_prefix);
    let metadata = all(client, words, options)?;
    let mut found = ClusterMetadata {
        brokers: metadata.brokers().iter().map(rdkafka::metadata::MetadataBroker::id).collect(),
        topics: BTreeMap::new(),
    };
    for topic in metadata.topics() {
        if Topic::ALL.iter().any(|known| names.of(*known) == topic.name()) {
            found.topics.insert(topic.name().to_owned(), replicas(topic));
        }
    }
    for topic in Topic::ALL {
        let name = names.of(topic);
        if !found.topics.contains_key(name) {
            // A list of all topics leaves those out that the client may not see; asked for one, the brokers say so.
            is_not_forbidden(client, topic, name)?;
        }
    }
    Ok(found)
}

fn replicas(topic: &MetadataTopic) -> Vec<Vec<i32>> {
    let mut partitions: Vec<_> =
        topic.partitions().iter().map(|one| (one.id(), one.replicas().to_vec())).collect();
    partitions.sort();
    partitions.into_iter().map(|(_, replicas)| replicas).collect()
}

/// Asks the cluster for all that it has, within the time for an answer.
fn all<C: ClientContext>(
    client: &Client<C>,
    words: &Words,
    options: &KafkaLogOptions,
) -> Result<Metadata, LogError> {
    let started = Instant::now();
    loop {
        let error = match client.fetch_metadata(None, STEP) {
            Ok(metadata) => return Ok(metadata),
            Err(error) => error,
        };
        if words.said_since(started) || started.elapsed() >= options.answer_within {
            return Err(no_answer(&error, words, options));
        }
    }
}

fn no_answer(error: &KafkaError, words: &Words, options: &KafkaLogOptions) -> LogError {
    let kind = match log_error("probe", error).kind {
        LogErrorKind::Refused => LogErrorKind::Refused,
        LogErrorKind::Unavailable | LogErrorKind::Corrupt | LogErrorKind::NotOwner => {
            LogErrorKind::Unavailable
        }
    };
    let words = words.suffix();
    let is_plain = PLAIN_REASONS.iter().any(|reason| words.contains(reason));
    let hint = if is_plain { "" } else { "; are the port and log.security_protocol right?" };
    let detail = format!("the Kafka brokers at {} do not answer: {error}{words}{hint}", options.brokers);
    LogError::new("probe", kind, detail)
}

fn is_not_forbidden<C: ClientContext>(client: &Client<C>, topic: Topic, name: &str) -> Result<(), LogError> {
    let metadata = client
        .fetch_metadata(Some(name), STEP)
        .map_err(|error| log_error("look up a topic", &error).at_topic(topic))?;
    let code = metadata.topics().iter().find_map(MetadataTopic::error).map(RDKafkaErrorCode::from);
    match code.filter(|code| rights::is_missing(*code)) {
        None => Ok(()),
        Some(code) => {
            let error = LogError::new("look up a topic", kind_of(code), code).at_topic(topic);
            Err(rights::explained(error, Some(code), || rights::on_topic("Describe", name)))
        }
    }
}
