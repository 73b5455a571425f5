//! What must be so before a process may work with the topics: else keys lie where nobody looks for them, or facts go.

use super::found::settings;
use super::plan::{CLEANUP_POLICY, DELETE};
use super::{admin, let_go};
use crate::error::{LogError, LogErrorKind};
use crate::kafka::metadata::ClusterMetadata;
use crate::kafka::names::Names;
use crate::kafka::options::KafkaLogOptions;
use crate::kafka::rights;
use crate::kafka::words::Words;
use readmark_events::Topic;
use std::collections::BTreeMap;
use std::sync::Arc;

fn refused(options: &KafkaLogOptions, detail: &str) -> LogError {
    let detail = format!("the Kafka cluster at {} {detail}", options.brokers);
    LogError::new("open the log", LogErrorKind::Refused, detail)
}

/// The partitions of each topic; all must be there, with one number of partitions, and that one which is configured.
pub(crate) fn partition_counts(
    options: &KafkaLogOptions,
    names: &Names,
    metadata: &ClusterMetadata,
) -> Result<BTreeMap<Topic, u32>, LogError> {
    let mut counts = BTreeMap::new();
    let mut missing = Vec::new();
    for topic in Topic::ALL {
        let name = names.of(topic);
        match metadata.topics.get(name).and_then(|replicas| u32::try_from(replicas.len()).ok()) {
            Some(count) if count > 0 => {
                counts.insert(topic, count);
            }
            Some(_) | None => missing.push((topic, name)),
        }
    }
    if let Some((topic, _)) = missing.first() {
        let names: Vec<&str> = missing.iter().map(|(_, name)| *name).collect();
        let detail = format!("has no topic {}: make the topics with `readmark setup`", names.join(", "));
        return Err(refused(options, &detail).at_topic(*topic));
    }
    let wanted = options.partitions.or_else(|| counts.values().copied().max()).unwrap_or_default();
    let others = counts.iter().filter(|(_, count)| **count != wanted);
    let others: Vec<String> =
        others.map(|(topic, count)| format!("{} has {count}", names.of(*topic))).collect();
    if others.is_empty() {
        return Ok(counts);
    }
    let wants = match options.partitions {
        Some(count) => format!("log.partitions is {count}"),
        None => format!("the others have {wanted}"),
    };
    let detail = format!(
        "has topics with another number of partitions: {}, but {wants}. The number decides where every key lies; \
         `readmark setup --dry-run` says what can be done",
        others.join(", ")
    );
    Err(refused(options, &detail))
}

/// No topic may be compacted. Other settings are a setup's to check.
pub(crate) async fn check_settings(options: &KafkaLogOptions, names: &Names) -> Result<(), LogError> {
    let words = Arc::new(Words::default());
    let admin = Arc::new(admin(options, &words)?);
    let topics: Vec<&str> = Topic::ALL.iter().map(|topic| names.of(*topic)).collect();
    let found = settings(&admin, &words, options, &topics).await;
    let_go(admin).await;
    let found = found?;
    let mut others = Vec::new();
    for topic in Topic::ALL {
        let name = names.of(topic);
        match found.get(name).and_then(|settings| settings.get(CLEANUP_POLICY)) {
            Some(policy) if policy.value == DELETE => {}
            Some(policy) => others.push((topic, format!("{name} has {}", policy.value))),
            // What may not be seen can't be said to be wrong.
            None => tracing::warn!(
                topic = name,
                needs = rights::on_topic("DescribeConfigs", name),
                "the topic's cleanup policy can't be checked"
            ),
        }
    }
    let Some((topic, _)) = others.first() else { return Ok(()) };
    let topic = *topic;
    let others: Vec<String> = others.into_iter().map(|(_, words)| words).collect();
    let detail = format!(
        "has topics with another {CLEANUP_POLICY} than {DELETE}: {}. It throws facts away before their time; `readmark \
         setup` puts it right",
        others.join(", ")
    );
    Err(refused(options, &detail).at_topic(topic))
}
