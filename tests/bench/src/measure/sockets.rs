//! What an idle WebSocket costs the server: 10,000 connections that have said hello, embedded parts, no TLS.
//!
//! `scripts/bench sockets [--connections 10000] [--conversations 20]`
//!
//! Users have 16 connections each, as many as one may have, and so many conversations. Their hot states are made before
//! the first look at the server's memory, so that what is counted is the connections.

use crate::arguments::{argument, say_machine};
use crate::device::Clients;
use crate::group::{Group, tell};
use crate::process::resident_kib;
use futures::StreamExt;
use readmark_test_harness::Server;
use std::time::Instant;
use tokio::task::JoinSet;

/// Connections of a user, at most.
const PER_USER: u64 = 16;
/// Devices that connect at once.
const CONNECTING: usize = 64;

pub async fn run() {
    let connections = argument("--connections", 10_000);
    let users = connections.div_ceil(PER_USER);
    let conversations = argument("--conversations", 20);
    say_machine(&format!("{users} users of {conversations} conversations, {PER_USER} connections each"));
    let server = Server::fresh().await;
    for n in 1..=conversations {
        let group = Group { id: format!("group-{n}"), members: users };
        tell(&server, group.joins()).await;
        tell(&server, group.sends(1..=1)).await;
        group.wait_for(&server, 1).await;
    }
    for uid in 1..=users {
        let _ = server.as_user(uid, "desktop").get_until_answered("/v1/unread").await.expect(200);
    }
    let pid = server.processes()[0].pid().expect("the server is up");
    let before = resident_kib(pid);

    let (clients, began) = (Clients::new(&server), Instant::now());
    let devices = futures::stream::iter(0..connections)
        .map(|n| {
            let clients = clients.clone();
            async move { clients.connect(n / PER_USER + 1, &format!("device-{}", n % PER_USER)).await }
        })
        .buffer_unordered(CONNECTING);
    let mut held = JoinSet::new();
    let mut devices = std::pin::pin!(devices);
    while let Some(mut device) = devices.next().await {
        held.spawn(async move {
            loop {
                device.next().await;
            }
        });
    }
    let seconds = began.elapsed().as_secs_f64();
    let after = resident_kib(pid);
    println!("connections, hello done    {connections} in {seconds:.1} s");
    println!("server before, MiB         {:.1}", before as f64 / 1_024.0);
    println!("server with them, MiB      {:.1}", after as f64 / 1_024.0);
    println!("KiB a connection           {:.1}", after.saturating_sub(before) as f64 / connections as f64);
    held.shutdown().await;
    server.terminate().await;
}
