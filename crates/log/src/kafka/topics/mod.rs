//! The topics of an installation: how they are to be, how they are, and what is done about the difference.

mod compare;
mod finding;
mod found;
mod plan;
mod reassign;
mod serving;
mod setup;

pub use finding::{Remedy, TopicFinding, TopicReport};
pub use plan::{TopicPlan, TopicSizing};
pub(super) use serving::{check_settings, partition_counts};
pub use setup::{check_topics, setup_topics};

use super::config;
use super::error::{kind_of, log_error};
use super::names::number;
use super::options::KafkaLogOptions;
use super::rights;
use super::words::{Listening, Words};
use crate::error::{LogError, LogErrorKind};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use readmark_events::Topic;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the brokers may take to make or remove topics: the controller writes each of them down.
const ADMIN_WITHIN: Duration = Duration::from_secs(30);
/// How long one question for a topic's leaders may take.
const ADMIN_STEP: Duration = Duration::from_secs(5);
const LEADER_PAUSE: Duration = Duration::from_millis(20);

/// Records bear the time at which the log took them.
const TIMESTAMPS: (&str, &str) = ("message.timestamp.type", "LogAppendTime");

/// Makes topics that are not there; those that are stay as they are. Gives those that were made.
///
/// # Errors
/// [`LogErrorKind::Refused`] when the brokers refuse one, else [`LogErrorKind::Unavailable`]. Those before it may have been made.
pub async fn create_topics(options: &KafkaLogOptions, plans: &[TopicPlan]) -> Result<Vec<Topic>, LogError> {
    let words = Arc::new(Words::default());
    let admin = Arc::new(admin(options, &words)?);
    let made = create(&admin, &words, options, plans).await;
    let_go(admin).await;
    made
}

async fn create(
    admin: &Arc<Admin>,
    words: &Words,
    options: &KafkaLogOptions,
    plans: &[TopicPlan],
) -> Result<Vec<Topic>, LogError> {
    let names: Vec<String> = plans.iter().map(|plan| plan.topic.full_name(&options.topic_prefix)).collect();
    let topics: Vec<NewTopic<'_>> =
        plans.iter().zip(&names).map(|(plan, name)| new_topic(plan, name)).collect();
    let results = admin
        .create_topics(&topics, &admin_options())
        .await
        .map_err(|error| explained("create topics", &error, words))?;
    let mut made = Vec::new();
    for (result, plan) in results.into_iter().zip(plans) {
        match result {
            Ok(_) => made.push(plan.topic),
            Err((_, RDKafkaErrorCode::TopicAlreadyExists)) => {}
            Err((name, code)) => {
                let detail = format!("{name}: {code}{}", words.suffix());
                let error = LogError::new("create a topic", kind_of(code), detail).at_topic(plan.topic);
                return Err(rights::explained(error, Some(code), || rights::on_topic("Create", &name)));
            }
        }
    }
    wait_for(Arc::clone(admin), names).await?;
    Ok(made)
}

/// The controller answers before every broker knows: waits until each partition has a leader that is known.
async fn wait_for(admin: Arc<Admin>, names: Vec<String>) -> Result<(), LogError> {
    let waiting = tokio::task::spawn_blocking(move || {
        let deadline = Instant::now() + ADMIN_WITHIN;
        let is_led = |name: &String| {
            let asked = admin.inner().fetch_metadata(Some(name), ADMIN_STEP);
            asked.is_ok_and(|metadata| {
                metadata.topics().iter().any(|topic| {
                    topic.error().is_none()
                        && !topic.partitions().is_empty()
                        && topic.partitions().iter().all(|one| one.leader() >= 0)
                })
            })
        };
        for name in &names {
            while !is_led(name) {
                if Instant::now() >= deadline {
                    let detail = format!("{name} was made, but has no leader within {ADMIN_WITHIN:?}");
                    return Err(LogError::new("create topics", LogErrorKind::Unavailable, detail));
                }
                std::thread::sleep(LEADER_PAUSE);
            }
        }
        Ok(())
    });
    match waiting.await {
        Ok(done) => done,
        Err(join) => Err(LogError::new("create topics", LogErrorKind::Unavailable, join)),
    }
}

fn new_topic<'a>(plan: &'a TopicPlan, name: &'a str) -> NewTopic<'a> {
    let replication = TopicReplication::Fixed(i32::try_from(plan.replication).unwrap_or(i32::MAX));
    let topic = NewTopic::new(name, number(plan.partitions), replication);
    let others = plan.settings.iter().filter(|(name, _)| *name != TIMESTAMPS.0);
    others.fold(topic, |topic, (name, value)| topic.set(name, value)).set(TIMESTAMPS.0, TIMESTAMPS.1)
}

/// Removes the topics of a prefix with all their records; those that are not there are none the less gone.
///
/// # Errors
/// [`LogErrorKind::Refused`] when the brokers refuse, else [`LogErrorKind::Unavailable`].
pub async fn delete_topics(options: &KafkaLogOptions, topics: &[Topic]) -> Result<(), LogError> {
    let names: Vec<String> = topics.iter().map(|topic| topic.full_name(&options.topic_prefix)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let words = Arc::new(Words::default());
    let admin = Arc::new(admin(options, &words)?);
    let results = admin.delete_topics(&names, &admin_options()).await;
    let_go(admin).await;
    let results = results.map_err(|error| explained("delete topics", &error, &words))?;
    for (result, topic) in results.into_iter().zip(topics) {
        match result {
            Ok(_) | Err((_, RDKafkaErrorCode::UnknownTopicOrPartition)) => {}
            Err((name, code)) => {
                let error = LogError::new("delete a topic", kind_of(code), format!("{name}: {code}"));
                let error = rights::explained(error, Some(code), || rights::on_topic("Delete", &name));
                return Err(error.at_topic(*topic));
            }
        }
    }
    Ok(())
}

type Admin = AdminClient<Listening>;

/// A client's thread takes a moment to end.
async fn let_go<C: Send + 'static>(client: C) {
    // Nothing to do about a runtime that ends.
    let _ = tokio::task::spawn_blocking(move || drop(client)).await;
}

fn admin(options: &KafkaLogOptions, words: &Arc<Words>) -> Result<Admin, LogError> {
    config::client(options)
        .create_with_context(Listening(Arc::clone(words)))
        .map_err(|error| log_error("open an admin client", &error))
}

fn admin_options() -> AdminOptions {
    options_within(ADMIN_WITHIN)
}

fn options_within(within: Duration) -> AdminOptions {
    AdminOptions::new().operation_timeout(Some(within)).request_timeout(Some(within))
}

/// With what the client says about it.
fn explained(operation: &'static str, error: &KafkaError, words: &Words) -> LogError {
    let mut error = log_error(operation, error);
    if error.kind == LogErrorKind::Unavailable {
        error.detail.push_str(&words.suffix());
    }
    error
}
