//! Facts that say nothing new, sent through every partition: when they have been handled, so has all before them.

use crate::full::Installation;
use crate::server::Server;
use crate::wait_while_moving;
use readmark_events::Topic;
use readmark_log::partitioner::partition_of;
use readmark_log::{Offset, TopicPartition};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Users of the beacons begin here, far from those of the tests.
const FIRST_SENDER: u64 = 700_000_000;
const FIRST_READER: u64 = 710_000_000;
/// When the beacons' facts happened: before any test's.
const BEFORE_NOW_MS: u64 = 3_600_000;

/// One for every partition number: of a conversation, a sender and a reader whose keys all lie there.
pub struct Beacons {
    server: Server,
    facts: Vec<Value>,
}

impl Beacons {
    /// Of a server on full parts.
    #[must_use]
    pub fn of(server: &Server) -> Self {
        let count = installation(server).partitions();
        let at = (crate::now_ms() - BEFORE_NOW_MS).to_string();
        let mut facts = Vec::new();
        for partition in 0..count {
            let lies = |key: &String| partition_of(key.as_bytes(), count) == partition;
            let uid =
                |first: u64| (first..).map(|uid| uid.to_string()).find(lies).expect("some key lies there");
            let (sender, reader) = (uid(FIRST_SENDER), uid(FIRST_READER));
            let id = (0..).map(|n| format!("beacon-{n}")).find(lies).expect("some key lies there");
            for uid in [&sender, &reader] {
                facts.push(json!({"type": "member_joined", "conversation_id": id, "uid": uid, "at_seq": "0", "occurred_at": at}));
            }
            facts.push(json!({"type": "message_sent", "conversation_id": id, "seq": "1", "msg_id": "1", "sender_uid": sender, "occurred_at": at}));
            facts.push(json!({"type": "acked", "conversation_id": id, "uid": reader, "endpoint": "beacon", "messages": [{"seq": "1", "sender_uid": sender}], "occurred_at": at}));
            facts.push(json!({"type": "read", "conversation_id": id, "uid": reader, "endpoint": "beacon", "up_to_seq": "1", "occurred_at": at}));
        }
        Self { server: server.clone(), facts }
    }

    /// Sends them and waits until each of these roles has stored positions behind them, in every partition; says how
    /// long that took since `since`, by role.
    pub async fn handled(&self, roles: &[&'static str], since: Instant) -> BTreeMap<&'static str, Duration> {
        self.server.as_service().events(&self.facts).await;
        let handled = roles.iter().map(|role| async {
            for topic in topics(role) {
                self.wait_for(role, *topic).await;
            }
            (*role, since.elapsed())
        });
        futures::future::join_all(handled).await.into_iter().collect()
    }

    async fn wait_for(&self, role: &str, topic: Topic) {
        let installation = installation(&self.server);
        let mut ends: BTreeMap<TopicPartition, Offset> = BTreeMap::new();
        for partition in 0..installation.partitions() {
            let at = TopicPartition { topic, partition };
            ends.insert(at, installation.ends(at).await.1);
        }
        let waited = format!("the {role} to have handled {topic}");
        for (at, end) in ends {
            wait_while_moving(&waited, || async move {
                let position = installation.committed(role, at).await;
                if position >= Some(end) { Ok(()) } else { Err(format!("{at}: {position:?} of {end}")) }
            })
            .await;
        }
    }
}

fn installation(server: &Server) -> &Installation {
    server.installation().expect("only full parts have partitions that move")
}

/// What a role consumes.
pub fn topics(role: &str) -> &'static [Topic] {
    match role {
        "catalog" => &[Topic::ConversationEvents],
        "aggregator" => &[Topic::Acks],
        "watermark" => &[Topic::Acks, Topic::Marks],
        other => panic!("{other} is no consuming role"),
    }
}
