//! What the cluster has.

use super::{Admin, explained, options_within};
use crate::error::{LogError, LogErrorKind};
use crate::kafka::metadata::{Asker, ClusterMetadata};
use crate::kafka::options::KafkaLogOptions;
use crate::kafka::rights;
use crate::kafka::words::Words;
use rdkafka::admin::{ConfigSource, OwnedResourceSpecifier, ResourceSpecifier};
use readmark_events::Topic;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The brokers, and the topics of an installation that are there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub brokers: Vec<i32>,
    pub topics: BTreeMap<String, FoundTopic>,
}

/// A topic as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FoundTopic {
    /// The brokers of each partition, the preferred leader first.
    pub replicas: Vec<Vec<i32>>,
    pub settings: BTreeMap<String, FoundSetting>,
}

/// A setting in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundSetting {
    pub value: String,
    /// Set for this topic; else it is the brokers' default.
    pub is_own: bool,
}

impl FoundTopic {
    /// The fewest and the most copies that a partition has.
    pub fn replication(&self) -> (usize, usize) {
        let counts = self.replicas.iter().map(Vec::len);
        (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0))
    }
}

/// Asks for brokers, topics and their settings.
pub(super) async fn look(
    admin: &Admin,
    asker: &Arc<Asker>,
    options: &KafkaLogOptions,
) -> Result<Found, LogError> {
    let ClusterMetadata { brokers, topics } = asker.topics(options).await?;
    let names: Vec<&str> = topics.keys().map(String::as_str).collect();
    let mut settings = settings(admin, asker.words(), options, &names).await?;
    let mut found = Found { brokers, topics: BTreeMap::new() };
    for (name, replicas) in topics {
        let settings = settings.remove(&name).unwrap_or_default();
        if settings.is_empty() {
            let detail = format!("{name}: the client needs {}", rights::on_topic("DescribeConfigs", &name));
            let error = LogError::new("look up a topic's settings", LogErrorKind::Refused, detail);
            let topic = Topic::ALL.into_iter().find(|topic| topic.full_name(&options.topic_prefix) == name);
            return Err(match topic {
                Some(topic) => error.at_topic(topic),
                None => error,
            });
        }
        found.topics.insert(name, FoundTopic { replicas, settings });
    }
    Ok(found)
}

/// Asks for the settings of topics. None are given of a topic whose settings the client may not see: the brokers say so,
/// but the library keeps it to itself.
pub(super) async fn settings(
    admin: &Admin,
    words: &Words,
    options: &KafkaLogOptions,
    names: &[&str],
) -> Result<BTreeMap<String, BTreeMap<String, FoundSetting>>, LogError> {
    if names.is_empty() {
        return Ok(BTreeMap::new());
    }
    let topics: Vec<ResourceSpecifier<'_>> =
        names.iter().map(|name| ResourceSpecifier::Topic(name)).collect();
    let answers = admin
        .describe_configs(&topics, &options_within(options.answer_within))
        .await
        .map_err(|error| explained("look up the topics' settings", &error, words))?;
    let mut found = BTreeMap::new();
    for resource in answers.into_iter().flatten() {
        let OwnedResourceSpecifier::Topic(name) = resource.specifier else { continue };
        let settings = resource.entries.into_iter().filter_map(|entry| {
            let is_own = entry.source == ConfigSource::DynamicTopic;
            Some((entry.name, FoundSetting { value: entry.value?, is_own }))
        });
        found.insert(name, settings.collect());
    }
    Ok(found)
}
