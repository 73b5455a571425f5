//! What lies in a topic, as tests look at it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use readmark_log::Record;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

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
    /// Of a record that was read here.
    pub(crate) fn of(record: Record) -> Self {
        let (payload, payload_base64) = match std::str::from_utf8(&record.payload) {
            Ok(text) => (text.to_owned(), None),
            Err(_) => (String::new(), Some(STANDARD.encode(&record.payload))),
        };
        Self {
            partition: record.position.partition.partition,
            offset: record.position.offset,
            appended_at_ms: record.appended_at.get(),
            key: record.key.map(|key| String::from_utf8_lossy(&key).into_owned()),
            headers: record.headers.into_iter().collect(),
            payload,
            payload_base64,
        }
    }

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
