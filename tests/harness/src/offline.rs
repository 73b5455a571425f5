//! The event log of a server that has ended, read from its file.

use crate::socket::TopicRecord;
use readmark_events::Topic;
use readmark_log::embedded::{EmbeddedLog, EmbeddedLogOptions};
use readmark_log::{EventLog, TopicPartition};
use std::path::Path;

/// Records read at once.
const PAGE: usize = 1_000;

/// Every record of a topic, by partition and offset. Nothing may run on the directory.
pub async fn topic(data_dir: &Path, topic: Topic) -> Vec<TopicRecord> {
    let file = data_dir.join("log.redb");
    let log = EmbeddedLog::open(&file, EmbeddedLogOptions::default()).await.expect("the log can be opened");
    let mut records = Vec::new();
    for partition in 0..log.partitions(topic) {
        let partition = TopicPartition { topic, partition };
        let mut next = log.start_offset(partition).await.expect("the log can be read");
        loop {
            let page = log.read(partition, next, PAGE).await.expect("the log can be read");
            let Some(last) = page.last() else { break };
            next = last.position.offset + 1;
            records.extend(page.into_iter().map(|record| TopicRecord {
                partition: record.position.partition.partition,
                offset: record.position.offset,
                appended_at_ms: record.appended_at.get(),
                key: record.key.map(|key| String::from_utf8_lossy(&key).into_owned()),
                headers: record.headers.into_iter().collect(),
                payload: String::from_utf8_lossy(&record.payload).into_owned(),
                payload_base64: None,
            }));
        }
    }
    log.close().await.expect("the log can be closed");
    records
}
