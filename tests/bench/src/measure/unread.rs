//! `GET /v1/unread` of users of 200 conversations: as it is, and the first one after the hot state was lost. One process
//! with all roles.
//!
//! `scripts/bench unread [--full] [--conversations 200] [--users 50] [--calls 2000]`
//!
//! One call after the other. The hot state is lost with `--full` by deleting the users' keys in Redis, else by a restart.

use crate::arguments::{argument, is_given, parts, say_machine};
use crate::group::{Group, tell};
use crate::latencies::Latencies;
use readmark_test_harness::{Part, Server};
use std::time::Instant;

/// Messages of each conversation, all of them unread but to their sender.
const MESSAGES: u64 = 3;

pub async fn run() {
    let conversations = argument("--conversations", 200);
    let users = argument("--users", 50);
    let calls = argument("--calls", 2_000);
    let on = if is_given("--full") { "full" } else { "embedded" };
    say_machine(&format!("{on} parts, {users} users of {conversations} conversations"));
    let server = Server::start(parts()).await;
    let groups: Vec<Group> =
        (1..=conversations).map(|n| Group { id: format!("group-{n}"), members: users }).collect();
    tell(&server, groups.iter().flat_map(Group::joins).collect()).await;
    tell(&server, groups.iter().flat_map(|group| group.sends(1..=MESSAGES)).collect()).await;
    for group in &groups {
        group.wait_for(&server, MESSAGES).await;
    }

    let each = |count: u64| (0..count).map(|n| n % users + 1);
    let (first, warm, lost) = (Latencies::default(), Latencies::default(), Latencies::default());
    for uid in each(users) {
        ask(&server, uid, conversations, &first).await;
    }
    for uid in each(calls) {
        ask(&server, uid, conversations, &warm).await;
    }
    lose(&server, users).await;
    for uid in each(users) {
        ask(&server, uid, conversations, &lost).await;
    }
    Latencies::heading();
    warm.row("GET /v1/unread");
    first.row("the first call of a user");
    lost.row("the first one after the hot state was lost");
    server.terminate().await;
}

async fn ask(server: &Server, uid: u64, conversations: u64, latencies: &Latencies) {
    let caller = server.as_user(uid, "desktop");
    let began = Instant::now();
    let answered = caller.get("/v1/unread?all=true").await.expect(200);
    latencies.since(began);
    let answered = answered.json();
    let count = answered["conversations"].as_array().map_or(0, Vec::len) as u64;
    assert_eq!(count, conversations, "user {uid}: {answered}");
}

async fn lose(server: &Server, users: u64) {
    if !is_given("--full") {
        server.terminate().await;
        return server.restart().await;
    }
    let address = server.services().address(Part::Redis);
    let client = redis::Client::open(address).unwrap_or_else(|e| panic!("{address}: {e}"));
    let connected = client.get_multiplexed_async_connection().await;
    let mut redis = connected.unwrap_or_else(|e| panic!("{address}: {e}"));
    for uid in 1..=users {
        let keys = ["user", "conversations", "stream", "tallies", "tally-order"]
            .map(|key| format!("{}:{{{uid}}}:{key}", server.name()));
        let deleted: Result<u64, _> = redis::cmd("DEL").arg(&keys).query_async(&mut redis).await;
        let deleted = deleted.unwrap_or_else(|e| panic!("{address}: {e}"));
        assert!(deleted >= 2, "the state of user {uid} was in {keys:?}: {deleted} of them");
    }
}
