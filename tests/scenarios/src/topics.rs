//! The topics of a server, each read once however many steps and scenarios look at it.

use readmark_test_harness::{Server, TopicRecord};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Where the partitions of a topic ended: partition → offset of what comes next.
pub type Ends = BTreeMap<u32, u64>;

const TOPICS: [&str; 6] =
    ["conversation-events", "acks", "marks", "conversation-changed", "read-changed", "dead-letters"];

/// All topics of a server.
pub struct Topics {
    server: Server,
    read: BTreeMap<&'static str, Mutex<Read>>,
}

#[derive(Default)]
struct Read {
    records: Vec<Arc<TopicRecord>>,
    next: Ends,
}

impl Topics {
    /// Of a server that runs whenever it is looked at.
    pub fn of(server: &Server) -> Self {
        let read = TOPICS.into_iter().map(|topic| (topic, Mutex::default())).collect();
        Self { server: server.clone(), read }
    }

    /// The names of all topics.
    pub const fn names() -> &'static [&'static str] {
        &TOPICS
    }

    /// The records there are now that are wanted, by partition as they were appended.
    pub async fn find(&self, topic: &str, is_wanted: impl Fn(&TopicRecord) -> bool) -> Vec<Arc<TopicRecord>> {
        let mut read = self.read(topic).lock().await;
        self.read_on(topic, &mut read).await;
        read.records.iter().filter(|record| is_wanted(record)).map(Arc::clone).collect()
    }

    /// Where a topic ends now.
    pub async fn ends(&self, topic: &str) -> Ends {
        let mut read = self.read(topic).lock().await;
        self.read_on(topic, &mut read).await;
        read.next.clone()
    }

    fn read(&self, topic: &str) -> &Mutex<Read> {
        self.read.get(topic).unwrap_or_else(|| panic!("there is no topic {topic:?}"))
    }

    async fn read_on(&self, topic: &str, read: &mut Read) {
        if read.next.is_empty() {
            let ends = self.server.topic_ends(topic).await;
            read.next = ends.iter().map(|partition| (partition.partition, partition.start)).collect();
        }
        let next: Vec<(u32, u64)> = read.next.iter().map(|(partition, next)| (*partition, *next)).collect();
        for record in self.server.topic_from(topic, &next).await {
            read.next.insert(record.partition, record.offset + 1);
            read.records.push(Arc::new(record));
        }
    }
}
