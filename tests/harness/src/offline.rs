//! The embedded log of a server that has ended, in its file.

use crate::topic_record::TopicRecord;
use readmark_embedded::{Engine, EngineOptions, redb};
use readmark_events::Topic;
use readmark_log::embedded::{EmbeddedLog, EmbeddedLogOptions};
use readmark_log::{EventLog, TopicPartition};
use std::path::{Path, PathBuf};

/// Records read at once.
const PAGE: usize = 1_000;

/// Where the log keeps the positions of its groups.
const POSITIONS: redb::TableDefinition<'_, &[u8], &[u8]> = redb::TableDefinition::new("log_positions");

/// Every record of a topic, by partition and offset. Nothing may run on the directory.
pub async fn topic(data_dir: &Path, topic: Topic) -> Vec<TopicRecord> {
    let log = EmbeddedLog::open(file(data_dir), EmbeddedLogOptions::default())
        .await
        .expect("the log can be opened");
    let mut records = Vec::new();
    for partition in 0..log.partitions(topic) {
        let partition = TopicPartition { topic, partition };
        let mut next = log.start_offset(partition).await.expect("the log can be read");
        loop {
            let page = log.read(partition, next, PAGE).await.expect("the log can be read");
            let Some(last) = page.last() else { break };
            next = last.position.offset + 1;
            records.extend(page.into_iter().map(TopicRecord::of));
        }
    }
    log.close().await.expect("the log can be closed");
    records
}

/// Takes the positions of every group away, as if they had never been stored. Nothing may run on the directory.
///
/// Fails when there are none.
pub async fn forget_positions(data_dir: &Path) {
    let engine = Engine::open(file(data_dir), &EngineOptions::default()).expect("the log can be opened");
    let forgotten = engine.write("forget positions", |txn| {
        use redb::ReadableTableMetadata;
        let stored = txn.open_table(POSITIONS)?.len()?;
        txn.delete_table(POSITIONS)?;
        Ok(stored)
    });
    let stored = forgotten.await.expect("the log can be written");
    assert!(stored > 0, "no position is stored");
    engine.close().await.expect("the log can be closed");
}

fn file(data_dir: &Path) -> PathBuf {
    data_dir.join("log.redb")
}
