//! What these tests begin with.

use readmark_test_harness::{DEADLINE, Server, token, wait_until};
use readmark_test_live::{Wire, joined, sent};
use serde_json::Value;

/// Conversation `c` of 7, 8 and 9, with two messages of 7.
pub async fn group(server: &Server) {
    joined(server, "c", &[7, 8, 9]).await;
    sent(server, "c", 7, 1..=2).await;
    for uid in [7, 8, 9] {
        is_shown(server, uid, "c", 2).await;
    }
}

/// Waits until a user is shown this head of a conversation: then nothing of what was said before is still to be told.
pub async fn is_shown(server: &Server, uid: u64, id: &str, head: u64) {
    wait_until(DEADLINE, &format!("{uid} to see {id} up to {head}"), || async {
        let path = format!("/v1/unread?all=true&uid={uid}");
        let answer = server.as_service().try_send("GET", &path, &Value::Null).await?.json();
        let rows = answer["conversations"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_there = rows
            .iter()
            .any(|row| row["conversation_id"] == id && row["head_seq"] == head.to_string().as_str());
        if is_there { Ok(()) } else { Err(answer.to_string()) }
    })
    .await;
}

/// A device of a user that has said nothing yet.
pub async fn device(server: &Server, uid: u64, endpoint: &str) -> Wire {
    let token = token::user(&server.secret(), uid, endpoint);
    let to = server.listen().expect("the server runs");
    Wire::open(to, &token).await.unwrap_or_else(|refused| panic!("no connection: {refused:?}"))
}

/// The user's phone.
pub async fn phone(server: &Server, uid: u64) -> Wire {
    device(server, uid, "phone").await
}

/// A device that has its snapshot.
pub async fn connected(server: &Server, uid: u64, endpoint: &str) -> (Wire, Value) {
    let mut wire = device(server, uid, endpoint).await;
    wire.hello(None).await;
    let snapshot = wire.frame().await;
    assert_eq!(snapshot["type"], "snapshot", "{snapshot}");
    (wire, snapshot)
}
