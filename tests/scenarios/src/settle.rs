//! Waiting until all that was sent has been applied and told, seen from outside.
//!
//! A fence goes through every partition of every topic that the roles read: a message, an ack of it and a mark,
//! of users and conversations whose keys lie in that partition. When the fence has arrived, so has everything
//! that lay before it. Since marks and rosters lead to acks, which lie in other partitions, it goes twice. Where a scenario
//! looks at devices, the fence has arrived when it is in its readers' hot state.

use crate::DEADLINE;
use crate::world::World;
use readmark_log::partitioner::partition_of;
use readmark_test_harness::wait_until;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Uids of the fences begin here, far from those of the scenarios.
const FIRST_UID: u64 = 800_000_000;
/// The fences' readers, far from their senders.
const FIRST_READER: u64 = 900_000_000;
/// Each scenario has a fence of its own, with uids for every partition.
const UIDS_PER_FENCE: u64 = 10_000;
/// What passes the fence once may have led to more, which it passes then.
const ROUNDS: u64 = 2;

struct Post {
    conversation_id: String,
    sender: u64,
    reader: u64,
}

/// Waits until everything sent before has been applied and told.
pub async fn settle(world: &World) {
    let mut rounds = world.fence_rounds.lock().await;
    let posts = posts(world).await;
    if rounds.is_none() {
        let joins: Vec<Value> = posts.iter().flat_map(|post| joins(world, post)).collect();
        world.server.as_service().events(&joins).await;
        *rounds = Some(0);
    }
    // Whoever has no hot state yet gets one now: only then does it show what is told.
    let follows = !world.devices.is_empty();
    for post in posts.iter().filter(|_| follows) {
        is_shown(world, post, 0).await;
    }
    for _ in 0..ROUNDS {
        let round = rounds.expect("the members have joined");
        let passed = posts.iter().map(|post| pass(world, post, round));
        futures::future::join_all(passed).await;
        arrived(world, &posts, round).await;
        for post in posts.iter().filter(|_| follows) {
            is_shown(world, post, 2 * round + 2).await;
        }
        *rounds = Some(round + 1);
    }
}

async fn posts(world: &World) -> Vec<Post> {
    let mut posts = Vec::new();
    let topics = ["conversation-events", "acks", "marks"];
    let mut counts = Vec::new();
    for topic in topics {
        counts.push(u32::try_from(world.server.topic_ends(topic).await.len()).expect("few partitions"));
    }
    for partition in 0..counts.iter().copied().max().unwrap_or(0) {
        let lies = |key: &String, count: u32| partition_of(key.as_bytes(), count) == partition % count;
        let uid = |first: u64, count: u32| {
            let first = first + world.number * UIDS_PER_FENCE;
            let found = (first..).find(|uid| lies(&uid.to_string(), count));
            found.expect("every partition has keys")
        };
        let id = |n: u64| format!("fence-{}-{partition}-{n}", world.id);
        let conversation_id = (0..).map(id).find(|id| lies(id, counts[0]));
        posts.push(Post {
            conversation_id: conversation_id.expect("every partition has keys"),
            sender: uid(FIRST_UID, counts[1]),
            reader: uid(FIRST_READER, counts[2]),
        });
    }
    posts
}

fn joins(world: &World, post: &Post) -> Vec<Value> {
    let at = readmark_test_harness::now_ms().to_string();
    let join = |uid: u64| {
        let mut join = json!({
            "type": "member_joined", "conversation_id": post.conversation_id, "uid": uid.to_string(),
            "at_seq": "0", "occurred_at": at,
        });
        if world.orders_by_version {
            join["version"] = json!("1");
        }
        join
    };
    vec![join(post.sender), join(post.reader)]
}

async fn pass(world: &World, post: &Post, round: u64) {
    let (first, second) = (2 * round + 1, 2 * round + 2);
    let at = readmark_test_harness::now_ms().to_string();
    let sent = |seq: u64| {
        json!({
            "type": "message_sent", "conversation_id": post.conversation_id, "seq": seq.to_string(),
            "msg_id": seq.to_string(), "sender_uid": post.sender.to_string(), "occurred_at": at,
        })
    };
    world.server.as_service().events(&[sent(first), sent(second)]).await;
    let reader = world.server.as_user(post.reader, "fence");
    let acked = json!({"conversation_id": post.conversation_id, "messages": [{"seq": first.to_string()}]});
    let _ = reader.post_until_answered("/v1/acks", &acked).await.expect(202);
    let path = format!("/v1/conversations/{}/read", post.conversation_id);
    let _ = reader.post_until_answered(&path, &json!({"up_to_seq": second.to_string()})).await.expect(202);
}

async fn arrived(world: &World, posts: &[Post], round: u64) {
    let is_of_fence = |key: &str| {
        let uid = key.parse::<u64>().unwrap_or(0);
        posts.iter().any(|post| post.sender == uid || post.reader == uid)
    };
    wait_until(DEADLINE, "what was sent to be applied and told", || async {
        let mut missing: BTreeSet<String> = BTreeSet::new();
        for post in posts {
            for seq in [2 * round + 1, 2 * round + 2] {
                missing.insert(format!("{}/{seq}", post.conversation_id));
            }
            missing.insert(format!("{} read {}", post.conversation_id, 2 * round + 2));
        }
        for record in world.records_by_key("read-changed", is_of_fence).await {
            let told = record.json();
            let id = told["conversation_id"].as_str().unwrap_or_default();
            match told["kind"].as_str() {
                Some("message_read") if told["read"] == "1" => {
                    missing.remove(&format!("{id}/{}", told["seq"].as_str().unwrap_or_default()));
                }
                Some("conversation_read") => {
                    missing.remove(&format!("{id} read {}", told["read_seq"].as_str().unwrap_or_default()));
                }
                _ => {}
            }
        }
        if missing.is_empty() { Ok(()) } else { Err(format!("not told of {missing:?}")) }
    })
    .await;
}

/// The reader's hot state has what came by its own partition and by its conversation's.
async fn is_shown(world: &World, post: &Post, seq: u64) {
    let path = format!("/v1/unread?all=true&uid={}", post.reader);
    wait_until(DEADLINE, "what was told to be shown", || async {
        let reply = world.server.as_service().try_send("GET", &path, &Value::Null).await?;
        let answer = reply.json();
        let rows = answer["conversations"].as_array().map(Vec::as_slice).unwrap_or_default();
        let row = rows.iter().find(|row| row["conversation_id"] == json!(post.conversation_id));
        let seq = json!(seq.to_string());
        let is_there = row.is_some_and(|row| row["head_seq"] == seq && row["read_seq"] == seq);
        if is_there || (seq == "0" && reply.status == 200) { Ok(()) } else { Err(reply.to_string()) }
    })
    .await;
}
