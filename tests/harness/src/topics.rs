//! Topics, read and written as they are, wherever they lie.

use crate::server::Server;
use crate::topic_record::{PartitionEnds, TopicRecord};
use crate::{offline, socket};
use bytes::Bytes;
use readmark_events::Topic;
use readmark_log::{NewRecord, TopicPartition};

fn topic(name: &str) -> Topic {
    name.parse().unwrap_or_else(|e| panic!("{name}: {e}"))
}

impl Server {
    /// The partitions of a topic of a running server.
    pub async fn topic_ends(&self, name: &str) -> Vec<PartitionEnds> {
        let topic = topic(name);
        let Some(installation) = self.installation() else {
            return socket::ends(self.data_dir(), topic).await;
        };
        let mut ends = Vec::new();
        for partition in 0..installation.partitions() {
            let (start, end) = installation.ends(TopicPartition { topic, partition }).await;
            ends.push(PartitionEnds { partition, start, end });
        }
        ends
    }

    /// Every record of a topic, by partition and offset, also when the server has ended.
    pub async fn topic(&self, name: &str) -> Vec<TopicRecord> {
        if self.installation().is_none() && !self.is_running() {
            return offline::topic(self.data_dir(), topic(name)).await;
        }
        let from: Vec<_> = self.topic_ends(name).await.iter().map(|p| (p.partition, p.start)).collect();
        self.topic_from(name, &from).await
    }

    /// The records of a topic of a running server from these offsets on.
    pub async fn topic_from(&self, name: &str, from: &[(u32, u64)]) -> Vec<TopicRecord> {
        let topic = topic(name);
        let mut records = Vec::new();
        for (partition, start) in from.iter().copied() {
            records.extend(match self.installation() {
                None => socket::records(self.data_dir(), topic, partition, start).await,
                Some(installation) => installation.records(TopicPartition { topic, partition }, start).await,
            });
        }
        records
    }

    /// Puts a record into a topic as it is.
    pub async fn put_record(&self, name: &str, key: &str, payload: &[u8]) {
        let topic = topic(name);
        match self.installation() {
            None => socket::put(self.data_dir(), topic, key, payload).await,
            Some(installation) => {
                let (key, payload) = (Bytes::from(key.to_owned()), Bytes::from(payload.to_vec()));
                installation.append(NewRecord { topic, key, payload, headers: Vec::new() }).await;
            }
        }
    }

    /// Takes the positions of every role away, as if they had never been stored. The server must have ended.
    ///
    /// Fails when there are none.
    pub async fn forget_positions(&self) {
        match self.installation() {
            None => offline::forget_positions(self.data_dir()).await,
            Some(installation) => installation.forget_positions().await,
        }
    }

    fn is_running(&self) -> bool {
        self.processes().iter().any(crate::process::Process::is_running)
    }
}
