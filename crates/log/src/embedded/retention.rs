use super::codec::{self, RECORDS};
use super::{EmbeddedLog, Inner, TRIM_RECORDS_MAX, log_error, read};
use crate::error::LogError;
use crate::record::{Offset, TopicPartition};
use crate::retention::RetentionRule;
use readmark_domain::time::TimeMs;
use readmark_events::Topic;

impl EmbeddedLog {
    /// Removes what the rules no longer keep; to be called by the hour. Gives the number of records removed.
    ///
    /// # Errors
    /// [`LogError`]; what was removed until then is gone, and calling again goes on.
    pub async fn retain(&self, rules: &[RetentionRule], now: TimeMs) -> Result<u64, LogError> {
        let mut removed = 0;
        for rule in rules {
            removed += self.trim_before(rule.topic, now.minus_ms(rule.keep_ms)).await?;
        }
        Ok(removed)
    }

    /// Removes the records of a topic that were appended before `at`, at most [`TRIM_RECORDS_MAX`] a commit.
    /// Offsets stay as they are. Gives the number of records removed.
    ///
    /// # Errors
    /// As [`EmbeddedLog::retain`].
    pub async fn trim_before(&self, topic: Topic, at: TimeMs) -> Result<u64, LogError> {
        let mut removed = 0;
        for partition in (0..self.inner.partitions).map(|partition| TopicPartition { topic, partition }) {
            let end = read::offset_for_time(&self.inner, partition, at).await?;
            loop {
                let step = trim_step(&self.inner, partition, end).await?;
                removed += step as u64;
                if step < TRIM_RECORDS_MAX {
                    break;
                }
            }
        }
        Ok(removed)
    }
}

async fn trim_step(inner: &Inner, partition: TopicPartition, end: Offset) -> Result<usize, LogError> {
    inner
        .engine
        .write("trim", move |txn| {
            let mut records = RECORDS.write(txn)?;
            let (first, last) = (codec::record_key(partition, 0), codec::record_key(partition, end));
            let keys = records
                .keys(first.as_slice()..last.as_slice())?
                .take(TRIM_RECORDS_MAX)
                .collect::<Result<Vec<_>, _>>()?;
            for key in &keys {
                records.remove(key)?;
            }
            Ok(keys.len())
        })
        .await
        .map_err(|error| log_error("trim", &error).at_partition(partition))
}
