//! How far roles are behind, for `readmark_consumer_lag`.

use crate::metrics::SharedMetrics;
use crate::ports::{Ports, Rules};
use readmark_events::Topic;
use readmark_log::{LogError, TopicPartition};
use tokio_util::sync::CancellationToken;

/// Pause between two readings; a scrape every 10 s sees a fresh value.
const READ_EVERY_MS: u64 = 1_000;

/// Keeps `readmark_consumer_lag` of these roles fresh until `stop`.
pub async fn watch_lag(
    ports: Ports,
    rules: Rules,
    roles: Vec<(&'static str, &'static [Topic])>,
    metrics: SharedMetrics,
    stop: CancellationToken,
) {
    while !stop.is_cancelled() {
        for (role, topics) in &roles {
            for topic in *topics {
                if let Err(error) = read_lag(&ports, &rules, role, *topic, &metrics).await {
                    tracing::debug!(role, %topic, %error, "lag not read");
                }
            }
        }
        tokio::select! {
            () = ports.clock.sleep_ms(READ_EVERY_MS) => {}
            () = stop.cancelled() => {}
        }
    }
}

async fn read_lag(
    ports: &Ports,
    rules: &Rules,
    role: &str,
    topic: Topic,
    metrics: &SharedMetrics,
) -> Result<(), LogError> {
    let group = rules.group(role);
    for partition in 0..ports.log.partitions(topic) {
        let at = TopicPartition { topic, partition };
        let end = ports.log.end_offset(at).await?;
        let position = match ports.log.committed(&group, at).await? {
            Some(position) => position,
            None => ports.log.start_offset(at).await?,
        };
        let lag = i64::try_from(end.saturating_sub(position)).unwrap_or(i64::MAX);
        metrics.consumer_lag.with_label_values(&[role, &at.to_string()]).set(lag);
    }
    Ok(())
}
