//! What the roles have stored of the topics they consume, on full parts.

use crate::beacons;
use crate::server::Server;
use readmark_log::TopicPartition;
use std::collections::BTreeMap;

impl Server {
    /// By topic and partition, what a role has stored: the offset of the record that it handles next. Partitions of which
    /// it has stored nothing are left out.
    pub async fn positions(&self, role: &str) -> BTreeMap<(String, u32), u64> {
        let installation = self.installation().expect("only full parts have positions that can be asked for");
        let mut positions = BTreeMap::new();
        for topic in beacons::topics(role).iter().copied() {
            for partition in 0..installation.partitions() {
                let position = installation.committed(role, TopicPartition { topic, partition }).await;
                positions.extend(position.map(|position| ((topic.to_string(), partition), position)));
            }
        }
        positions
    }
}
