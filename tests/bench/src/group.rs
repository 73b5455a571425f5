//! Groups with messages, as an IM backend makes them.

use readmark_test_harness::{DEADLINE, Server, now_ms, wait_until};
use serde_json::{Value, json};
use std::ops::RangeInclusive;

/// Who sends all messages of a group.
pub const SENDER: u64 = 1;
/// Events of one call, as many as it takes.
const EVENTS_PER_CALL: usize = 1_000;

/// A conversation of the users 1 to `members`.
#[derive(Debug, Clone)]
pub struct Group {
    /// Its id.
    pub id: String,
    /// How many are in it.
    pub members: u64,
}

impl Group {
    /// Makes it, with this many messages, and waits until both are there.
    pub async fn create(server: &Server, id: &str, members: u64, messages: u64) -> Self {
        let group = Self { id: id.to_owned(), members };
        tell(server, group.joins()).await;
        tell(server, group.sends(1..=messages)).await;
        group.wait_for(server, messages).await;
        group
    }

    /// Everybody joins, before all messages.
    #[must_use]
    pub fn joins(&self) -> Vec<Value> {
        let now = now_ms().to_string();
        let join = |uid: u64| {
            json!({"type": "member_joined", "conversation_id": self.id, "uid": uid.to_string(), "at_seq": "0",
                   "occurred_at": now})
        };
        (1..=self.members).map(join).collect()
    }

    /// The sender sends these messages.
    #[must_use]
    pub fn sends(&self, seqs: RangeInclusive<u64>) -> Vec<Value> {
        seqs.map(|seq| self.send(seq, SENDER)).collect()
    }

    /// Somebody sends a message.
    #[must_use]
    pub fn send(&self, seq: u64, sender: u64) -> Value {
        json!({"type": "message_sent", "conversation_id": self.id, "seq": seq.to_string(),
               "msg_id": seq.to_string(), "sender_uid": sender.to_string(), "occurred_at": now_ms().to_string()})
    }

    /// Waits until a message of the sender is answered with all of its readers-to-be.
    pub async fn wait_for(&self, server: &Server, seq: u64) {
        let path = format!("/v1/conversations/{}/messages/{seq}/receipt", self.id);
        let caller = server.as_service();
        wait_until(DEADLINE, &format!("message {seq} of {}", self.id), || async {
            let receipt = caller.get(&path).await;
            let total = number(&receipt.json()["total"]);
            if receipt.status == 200 && total == Some(self.members - 1) {
                Ok(())
            } else {
                Err(receipt.to_string())
            }
        })
        .await;
    }
}

/// Sends events, as many calls as that takes.
pub async fn tell(server: &Server, events: Vec<Value>) {
    let backend = server.as_service();
    for page in events.chunks(EVENTS_PER_CALL) {
        backend.events(page).await;
    }
}

/// A number as it travels: a decimal string.
#[must_use]
pub fn number(value: &Value) -> Option<u64> {
    value.as_str()?.parse().ok()
}
