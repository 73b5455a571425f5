//! The operator's socket in the data directory: topics, read and written as they are.

use crate::http::{Call, send_to_socket};
use crate::reply::Reply;
use crate::server::Server;
use base64::Engine;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Records asked for at once.
const PAGE: usize = 1_000;

/// A record of a topic.
#[derive(Debug, Clone, Deserialize)]
pub struct TopicRecord {
    /// Its partition.
    pub partition: u32,
    /// Its place there.
    pub offset: u64,
    /// When the log took it, in milliseconds since 1970.
    pub appended_at_ms: u64,
    /// Its key, as text.
    pub key: Option<String>,
    /// Its headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Its payload as text; empty when it is none.
    #[serde(default)]
    pub payload: String,
    /// Its payload in base64, when it is no text.
    #[serde(default)]
    pub payload_base64: Option<String>,
}

impl TopicRecord {
    /// The payload as JSON; null when it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.payload).unwrap_or(Value::Null)
    }

    /// A header, empty when missing.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// From where to where a partition reaches.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct PartitionEnds {
    /// The partition.
    pub partition: u32,
    /// Offset of its oldest record.
    pub start: u64,
    /// Offset that its next record will get.
    pub end: u64,
}

impl Server {
    /// The partitions of a topic.
    pub async fn topic_ends(&self, topic: &str) -> Vec<PartitionEnds> {
        let reply = self.admin("GET", &format!("/topics/{topic}"), Vec::new()).await.expect(200);
        serde_json::from_value(reply.json()["partitions"].clone()).unwrap_or_else(|e| panic!("{reply}: {e}"))
    }

    /// Every record of a topic, by partition and offset.
    pub async fn topic(&self, topic: &str) -> Vec<TopicRecord> {
        let from: Vec<_> = self.topic_ends(topic).await.iter().map(|p| (p.partition, p.start)).collect();
        self.topic_from(topic, &from).await
    }

    /// The records of a topic from these offsets on.
    pub async fn topic_from(&self, topic: &str, from: &[(u32, u64)]) -> Vec<TopicRecord> {
        let mut records = Vec::new();
        for (partition, start) in from {
            let mut next = *start;
            loop {
                let path = format!("/topics/{topic}?partition={partition}&from={next}&limit={PAGE}");
                let reply = self.admin("GET", &path, Vec::new()).await.expect(200);
                let page: Vec<TopicRecord> =
                    serde_json::from_slice(&reply.body).unwrap_or_else(|e| panic!("{path}: {e}: {reply}"));
                let Some(last) = page.last() else { break };
                next = last.offset + 1;
                records.extend(page);
            }
        }
        records
    }

    /// Puts a record into a topic as it is.
    pub async fn put_record(&self, topic: &str, key: &str, payload: &[u8]) {
        let body = match std::str::from_utf8(payload) {
            Ok(text) => json!({"key": key, "payload": text}),
            Err(_) => {
                let encoded = base64::engine::general_purpose::STANDARD.encode(payload);
                json!({"key": key, "payload_base64": encoded})
            }
        };
        let reply = self.admin("POST", &format!("/topics/{topic}"), body.to_string().into_bytes()).await;
        assert!((200..300).contains(&reply.status), "putting a record into {topic}: {reply}");
    }

    async fn admin(&self, method: &'static str, path: &str, body: Vec<u8>) -> Reply {
        let mut headers = Vec::new();
        if !body.is_empty() {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        let call = Call { method, path: path.to_owned(), headers, body: body.into() };
        let socket = self.data_dir().join("admin.sock");
        send_to_socket(&socket, &call).await.unwrap_or_else(|e| panic!("{method} {path} on the socket: {e}"))
    }
}
