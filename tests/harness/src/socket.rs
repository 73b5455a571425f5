//! The operator's socket in the data directory of a running `readmark up`.

use crate::http::{Call, send_to_socket};
use crate::reply::Reply;
use crate::topic_record::{PartitionEnds, TopicRecord};
use base64::Engine;
use readmark_events::Topic;
use serde_json::json;
use std::path::Path;

/// Records asked for at once.
const PAGE: usize = 1_000;

/// The partitions of a topic.
pub async fn ends(data_dir: &Path, topic: Topic) -> Vec<PartitionEnds> {
    let reply = ask(data_dir, "GET", &format!("/topics/{topic}"), Vec::new()).await.expect(200);
    serde_json::from_value(reply.json()["partitions"].clone()).unwrap_or_else(|e| panic!("{reply}: {e}"))
}

/// The records of a partition from an offset on.
pub async fn records(data_dir: &Path, topic: Topic, partition: u32, from: u64) -> Vec<TopicRecord> {
    let (mut records, mut next) = (Vec::new(), from);
    loop {
        let path = format!("/topics/{topic}?partition={partition}&from={next}&limit={PAGE}");
        let reply = ask(data_dir, "GET", &path, Vec::new()).await.expect(200);
        let page: Vec<TopicRecord> =
            serde_json::from_slice(&reply.body).unwrap_or_else(|e| panic!("{path}: {e}: {reply}"));
        let Some(last) = page.last() else { return records };
        next = last.offset + 1;
        records.extend(page);
    }
}

/// Puts a record into a topic as it is.
pub async fn put(data_dir: &Path, topic: Topic, key: &str, payload: &[u8]) {
    let body = match std::str::from_utf8(payload) {
        Ok(text) => json!({"key": key, "payload": text}),
        Err(_) => {
            let encoded = base64::engine::general_purpose::STANDARD.encode(payload);
            json!({"key": key, "payload_base64": encoded})
        }
    };
    let reply = ask(data_dir, "POST", &format!("/topics/{topic}"), body.to_string().into_bytes()).await;
    assert!((200..300).contains(&reply.status), "putting a record into {topic}: {reply}");
}

async fn ask(data_dir: &Path, method: &'static str, path: &str, body: Vec<u8>) -> Reply {
    let mut headers = Vec::new();
    if !body.is_empty() {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    let call = Call { method, path: path.to_owned(), headers, body: body.into() };
    let socket = data_dir.join("admin.sock");
    send_to_socket(&socket, &call).await.unwrap_or_else(|e| panic!("{method} {path} on the socket: {e}"))
}
