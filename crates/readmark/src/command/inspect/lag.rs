use super::Table;
use crate::role_name::RoleName;
use readmark_log::{EventLog, LogError};
use readmark_runtime::lag::{Consumed, PartitionLag, read_lag};
use readmark_runtime::ports::Rules;
use serde::{Deserialize, Serialize};

/// How far the roles are behind.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LagView {
    pub partitions: Vec<PartitionView>,
    pub totals: Vec<TotalView>,
    /// Records that are there and not handled, of all roles together.
    pub lag: u64,
}

/// A role in one partition.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PartitionView {
    pub role: String,
    pub topic: String,
    pub partition: u32,
    /// The next record that the role handles; nothing when it has stored no position yet.
    pub position: Option<u64>,
    /// The oldest record that is there.
    pub start: u64,
    /// The record that comes next.
    pub end: u64,
    pub lag: u64,
}

/// A role in one topic.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TotalView {
    pub role: String,
    pub topic: String,
    pub partitions: usize,
    pub lag: u64,
}

/// Reads it.
pub(crate) async fn view(log: &dyn EventLog, rules: &Rules) -> Result<LagView, LogError> {
    let consumed: Vec<Consumed> = RoleName::ALL.into_iter().filter_map(RoleName::consumes).collect();
    let found = read_lag(log, rules, &consumed).await?;
    let mut totals = Vec::new();
    for (role, topics) in consumed {
        for topic in topics {
            let of_topic = found.iter().filter(|one| one.role == role && one.at.topic == *topic);
            let lags: Vec<u64> = of_topic.map(PartitionLag::lag).collect();
            let (role, topic) = (role.to_owned(), topic.to_string());
            totals.push(TotalView { role, topic, partitions: lags.len(), lag: lags.iter().sum() });
        }
    }
    let lag = totals.iter().map(|total| total.lag).sum();
    let partitions = found.iter().map(|one| PartitionView {
        role: one.role.to_owned(),
        topic: one.at.topic.to_string(),
        partition: one.at.partition,
        position: one.position,
        start: one.start,
        end: one.end,
        lag: one.lag(),
    });
    Ok(LagView { partitions: partitions.collect(), totals, lag })
}

impl Table for LagView {
    fn table(&self) -> String {
        let mut text =
            String::from("role         topic                  partition  position      end           lag\n");
        let mut row = |role: &str, topic: &str, partition: &str, position: &str, end: &str, lag: u64| {
            text.push_str(&format!(
                "{role:<12} {topic:<22} {partition:<10} {position:<13} {end:<13} {lag}\n"
            ));
        };
        for PartitionView { role, topic, partition, position, end, lag, .. } in &self.partitions {
            let position = position.map_or_else(|| "-".to_owned(), |position| position.to_string());
            row(role, topic, &partition.to_string(), &position, &end.to_string(), *lag);
        }
        for TotalView { role, topic, lag, .. } in &self.totals {
            row(role, topic, "all", "", "", *lag);
        }
        row("all", "", "", "", "", self.lag);
        text
    }
}
