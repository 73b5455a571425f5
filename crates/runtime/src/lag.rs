//! How far roles are behind, for `readmark_consumer_lag` and for operators.

use crate::metrics::SharedMetrics;
use crate::ports::{Ports, Rules};
use readmark_events::Topic;
use readmark_log::{EventLog, LogError, Offset, TopicPartition};
use std::collections::BTreeMap;
use tokio_util::sync::CancellationToken;

/// Pause between two readings; a scrape every 10 s sees a fresh value.
const READ_EVERY_MS: u64 = 1_000;

/// What a role consumes: its name and topics.
pub type Consumed = (&'static str, &'static [Topic]);

/// How far a role is in a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionLag {
    /// The role.
    pub role: &'static str,
    /// The partition.
    pub at: TopicPartition,
    /// The next record that the role handles; `None` when it has stored no position yet, and begins at the start.
    pub position: Option<Offset>,
    /// The oldest record that is there.
    pub start: Offset,
    /// The record that comes next.
    pub end: Offset,
}

impl PartitionLag {
    /// Records that are there and not handled.
    #[must_use]
    pub fn lag(&self) -> u64 {
        self.end.saturating_sub(self.position.unwrap_or(self.start).max(self.start))
    }
}

/// Reads how far these roles are, by role, topic and partition.
///
/// # Errors
/// What the log says.
pub async fn read_lag(
    log: &dyn EventLog,
    rules: &Rules,
    consumed: &[Consumed],
) -> Result<Vec<PartitionLag>, LogError> {
    let partitions =
        |topic: Topic| (0..log.partitions(topic)).map(move |partition| TopicPartition { topic, partition });
    let mut positions = Vec::new();
    for (role, topics) in consumed {
        let asked: Vec<TopicPartition> = topics.iter().copied().flat_map(partitions).collect();
        let stored = log.committed_all(&rules.group(role), &asked).await?;
        positions.extend(asked.into_iter().zip(stored).map(|(at, position)| (*role, at, position)));
    }
    // After the positions: a lag of 0 then means that all was handled that was there by now.
    let mut asked: Vec<TopicPartition> = positions.iter().map(|(_, at, _)| *at).collect();
    asked.sort();
    asked.dedup();
    let bounds = log.bounds(&asked).await?;
    let bounds: BTreeMap<TopicPartition, (Offset, Offset)> = asked.into_iter().zip(bounds).collect();
    let lag = |(role, at, position)| {
        let (start, end) = bounds.get(&at).copied().unwrap_or_default();
        PartitionLag { role, at, position, start, end }
    };
    Ok(positions.into_iter().map(lag).collect())
}

/// Keeps `readmark_consumer_lag` of these roles fresh until `stop`.
pub async fn watch_lag(
    ports: Ports,
    rules: Rules,
    consumed: Vec<Consumed>,
    metrics: SharedMetrics,
    stop: CancellationToken,
) {
    while !stop.is_cancelled() {
        match read_lag(&*ports.log, &rules, &consumed).await {
            Ok(partitions) => partitions.iter().for_each(|partition| {
                let lag = i64::try_from(partition.lag()).unwrap_or(i64::MAX);
                metrics.consumer_lag.with_label_values(&[partition.role, &partition.at.to_string()]).set(lag);
            }),
            Err(error) => tracing::debug!(%error, "lag not read"),
        }
        tokio::select! {
            () = ports.clock.sleep_ms(READ_EVERY_MS) => {}
            () = stop.cancelled() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_is_not_behind() {
        let at = TopicPartition { topic: Topic::Acks, partition: 0 };
        let lag = |position, start, end| PartitionLag { role: "aggregator", at, position, start, end }.lag();
        assert_eq!(lag(Some(5), 0, 7), 2);
        assert_eq!(lag(None, 3, 7), 4);
        assert_eq!(lag(Some(1), 3, 7), 4);
        assert_eq!(lag(Some(9), 3, 7), 0);
    }
}
