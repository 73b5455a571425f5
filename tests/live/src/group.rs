//! Small conversations.

use readmark_test_harness::{DEADLINE, Server, now_ms, wait_until};
use serde_json::{Value, json};

/// These users join before the first message.
pub async fn joined(server: &Server, id: &str, uids: &[u64]) {
    let join = |uid: &u64| {
        json!({"type": "member_joined", "conversation_id": id, "uid": uid.to_string(), "at_seq": "0",
               "occurred_at": (now_ms() - 1_000).to_string()})
    };
    let joins: Vec<Value> = uids.iter().map(join).collect();
    for some in joins.chunks(1_000) {
        server.as_service().events(some).await;
    }
}

/// A message.
#[must_use]
pub fn message(id: &str, sender: u64, seq: u64) -> Value {
    json!({"type": "message_sent", "conversation_id": id, "seq": seq.to_string(), "msg_id": (900 + seq).to_string(),
           "sender_uid": sender.to_string(), "occurred_at": now_ms().to_string()})
}

/// A user sends these, and they are known.
pub async fn sent(server: &Server, id: &str, sender: u64, seqs: impl IntoIterator<Item = u64>) {
    let messages: Vec<Value> = seqs.into_iter().map(|seq| message(id, sender, seq)).collect();
    let newest = messages.last().expect("a message")["seq"].clone();
    server.as_service().events(&messages).await;
    let path = format!("/v1/conversations/{id}/messages/{}/receipt", newest.as_str().expect("a seq"));
    wait_until(DEADLINE, "the message to be known", || async {
        let reply = server.as_service().try_send("GET", &path, &Value::Null).await?;
        if reply.status == 200 { Ok(()) } else { Err(reply.to_string()) }
    })
    .await;
}
