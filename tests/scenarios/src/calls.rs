//! Steps that readers take themselves.

use crate::DEADLINE;
use crate::format::{Ack, AskOften, Call, Clear, Expect, Read, Switch};
use crate::world::World;
use futures::StreamExt;
use readmark_test_harness::{Reply, wait_until};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::future::Future;

/// Readers that call at once in one step.
const AT_ONCE: usize = 32;
/// The device of a reader, unless a step says another.
const ENDPOINT: &str = "phone";

/// "Read up to" of each reader.
pub async fn read(world: &World, step: &Read, round: u64) {
    let query = if step.wait { "?wait=applied" } else { "" };
    let path = format!("/v1/conversations/{}/read{query}", world.conversation(&step.c));
    let body = json!({"up_to_seq": step.up_to.to_string()});
    let usual = if step.wait { 200 } else { 202 };
    let calls = world.uids(&step.users, round).into_iter().map(|uid| (uid, path.clone(), body.clone()));
    post_all(world, calls.collect(), step.endpoint.as_deref(), &step.expect, usual).await;
}

/// An ack of each reader.
pub async fn ack(world: &World, step: &Ack, round: u64) {
    let sender = step.from.as_ref().map(|name| world.uid(name).to_string());
    let message = |seq: u64| match &sender {
        None => json!({"seq": seq.to_string()}),
        Some(sender) => json!({"seq": seq.to_string(), "sender_uid": sender}),
    };
    let messages: Vec<Value> = world.seqs(&step.seqs, round).into_iter().map(message).collect();
    let body = json!({"conversation_id": world.conversation(&step.c), "messages": messages});
    let calls =
        world.uids(&step.users, round).into_iter().map(|uid| (uid, "/v1/acks".to_owned(), body.clone()));
    post_all(world, calls.collect(), step.endpoint.as_deref(), &step.expect, 202).await;
}

/// A clear of each reader.
pub async fn clear(world: &World, step: &Clear, round: u64) {
    let path = format!("/v1/conversations/{}/clear", world.conversation(&step.c));
    let body = step.up_to.map_or_else(|| json!({}), |seq| json!({"up_to_seq": seq.to_string()}));
    let calls = world.uids(&step.users, round).into_iter().map(|uid| (uid, path.clone(), body.clone()));
    post_all(world, calls.collect(), None, &step.expect, 202).await;
}

/// Receipts on or off.
pub async fn switch(world: &World, step: &Switch, round: u64) {
    for uid in world.uids(&step.users, round) {
        let body = json!({"receipts": step.receipts}).to_string();
        let _ = world.server.as_user(uid, ENDPOINT).send("PUT", "/v1/settings", body).await.expect(202);
    }
}

/// Any request.
pub async fn call(world: &World, step: &Call) {
    let caller = match &step.user {
        Some(name) => world.server.as_user(world.uid(name), ENDPOINT),
        None => world.server.as_service(),
    };
    let method = match step.method.as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "PUT" => "PUT",
        other => panic!("no method {other:?}"),
    };
    let body = step.body.as_deref().map(|body| world.fill(body)).unwrap_or_default();
    let path = world.fill(&step.path);
    let reply = until_sure(&step.expect, || caller.send(method, &path, body.clone())).await;
    check(&reply, &step.expect, 200);
}

/// Asks for a user's unread again and again: it is this, or not known, and never anything else.
pub async fn ask_often(world: &World, step: &AskOften) {
    let caller = world.server.as_user(world.uid(&step.user), ENDPOINT);
    let must_be = json!(step.total.to_string());
    let mut answered = 0;
    for number in 1..=step.times {
        let reply = caller.get("/v1/unread").await;
        let is_right = reply.status == 200 && reply.json()["total"] == must_be;
        assert!(is_right || reply.status == 503, "read {number}: {reply}, must be {must_be} or 503");
        answered += u64::from(is_right);
    }
    assert!(answered > 0, "no read was answered with a number");
}

/// Posts side by side. A call that says which status it expects is sent until the server is sure, others until they are
/// answered with success.
async fn post_all(
    world: &World,
    calls: Vec<(u64, String, Value)>,
    endpoint: Option<&str>,
    expect: &Expect,
    usual: u16,
) {
    let posts = calls.into_iter().map(|(uid, path, body)| async move {
        let caller = world.server.as_user(uid, endpoint.unwrap_or(ENDPOINT));
        let reply = if expect.status.is_empty() {
            // A wait has its bound, 2 s; who wants to know more asks again.
            wait_until(DEADLINE, "a call to be applied", || async {
                let reply = caller.post_until_answered(&path, &body).await;
                let is_later = usual == 200 && reply.status == 202;
                if is_later { Err(reply.to_string()) } else { Ok(reply) }
            })
            .await
        } else {
            until_sure(expect, || caller.post(&path, &body)).await
        };
        check(&reply, expect, usual);
    });
    futures::stream::iter(posts).buffer_unordered(AT_ONCE).collect::<()>().await;
}

/// Sends again what is answered with 503: it says that the server can't refuse it for sure yet.
async fn until_sure<F: Future<Output = Reply>>(expect: &Expect, send: impl Fn() -> F) -> Reply {
    wait_until(DEADLINE, "an answer that is sure", || async {
        let reply = send().await;
        let is_sure = reply.status != 503 || expect.status.contains(&503);
        if is_sure { Ok(reply) } else { Err(reply.to_string()) }
    })
    .await
}

fn check(reply: &Reply, expect: &Expect, usual: u16) {
    if expect.status.is_empty() {
        assert_eq!(reply.status, usual, "{reply}");
    } else {
        assert!(expect.status.contains(&reply.status), "expected one of {:?}: {reply}", expect.status);
    }
    let body = reply.json();
    if let Some(problem) = &expect.problem {
        assert_eq!(reply.problem(), *problem, "{reply}");
    }
    for (field, value) in [("read_seq", expect.read_seq), ("unread", expect.unread)] {
        if let Some(value) = value {
            assert_eq!(body[field], json!(value.to_string()), "{field}: {reply}");
        }
    }
    if let Some(expected) = &expect.ignored {
        let items = body["ignored"].as_array().map(Vec::as_slice).unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let ignored: BTreeMap<_, _> =
            items.iter().map(|item| (text(&item["seq"]), text(&item["reason"]))).collect();
        assert_eq!(ignored, *expected, "ignored: {reply}");
    }
    for (field, value) in expect.body.iter().flat_map(|body| body.as_object()).flatten() {
        assert_eq!(body[field], *value, "{field}: {reply}");
    }
}
