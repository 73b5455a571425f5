//! From a call to the frame on a device: a message to the devices of all other members, an ack to the sender's device;
//! groups of 50 and of 500, one process with all roles.
//!
//! `scripts/bench push [--full] [--frames-per-s 1000] [--acks-per-s 200] [--seconds 10]`
//!
//! Every member has one device connected. Messages are sent at the rate that makes so many frames.

use crate::acks::{AckTimes, Poster};
use crate::arguments::{argument, is_given, parts, say_machine};
use crate::device::{Clients, Device};
use crate::group::{Group, SENDER, tell};
use crate::latencies::Latencies;
use futures::StreamExt;
use readmark_domain::hot::News;
use readmark_test_harness::{Server, wait_until};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Devices that connect at once.
const CONNECTING: usize = 32;
/// The first message that is measured: the one before shows that the group is there.
const FIRST: u64 = 2;
/// What was sent is told within this time, however busy the machine is.
const TOLD_WITHIN: Duration = Duration::from_secs(60);

/// What devices are told, and when it was sent.
#[derive(Default)]
struct Watch {
    /// From [`FIRST`] on.
    sent: Mutex<Vec<Instant>>,
    messages: Latencies,
    acks: AckTimes,
}

pub async fn run() {
    let on = if is_given("--full") { "full" } else { "embedded" };
    say_machine(&format!("{on} parts, every member on a device"));
    let server = Server::start(parts()).await;
    Latencies::heading();
    for members in [50, 500] {
        measure(&server, members).await;
    }
    server.terminate().await;
}

async fn measure(server: &Server, members: u64) {
    let seconds = argument("--seconds", 10);
    let messages_per_s = (argument("--frames-per-s", 1_000) / members).max(1);
    let acks_per_s = argument("--acks-per-s", 200);
    let group = Group::create(server, &format!("group-{members}"), members, FIRST - 1).await;
    let watch = Arc::new(Watch::default());
    let clients = Clients::new(server);
    let devices = futures::stream::iter(1..=members)
        .map(async |uid| (uid, clients.connect(uid, "desktop").await))
        .buffer_unordered(CONNECTING);
    // Ends with this function, and the connections with it.
    let mut following = JoinSet::new();
    let mut devices = std::pin::pin!(devices);
    while let Some((uid, device)) = devices.next().await {
        following.spawn(follow(device, uid == SENDER, group.id.clone(), watch.clone()));
    }

    let messages = messages_per_s * seconds;
    let mut tick = tokio::time::interval(Duration::from_secs_f64(1.0 / messages_per_s as f64));
    for seq in FIRST..FIRST + messages {
        tick.tick().await;
        let event = group.send(seq, SENDER);
        watch.sent.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
        tell(server, vec![event]).await;
    }
    told(&watch.messages, messages * (members - 1)).await;
    let acked = (acks_per_s * seconds).div_ceil(members - 1).min(messages);
    let mut poster = Poster::new(server, &group, acks_per_s, &watch.acks);
    for seq in FIRST..FIRST + acked {
        poster.message(seq).await;
    }
    poster.answered().await;
    told(&watch.acks.latencies, acked * (members - 1)).await;
    watch.messages.row(&format!("group of {members}, {messages_per_s} messages/s: message to frame"));
    watch.acks.latencies.row(&format!("group of {members}, {acks_per_s} acks/s: ack to sender's frame"));
}

async fn told(latencies: &Latencies, expected: u64) {
    wait_until(TOLD_WITHIN, "all to be told", || async {
        let told = latencies.count() as u64;
        if told == expected { Ok(()) } else { Err(format!("{told} of {expected}")) }
    })
    .await;
}

async fn follow(mut device: Device, is_sender: bool, group: String, watch: Arc<Watch>) {
    let mut heard = 0;
    loop {
        take(&device.next().await.news, is_sender, &group, &mut heard, &watch);
    }
}

/// Of one entry, on a device that has heard of so many messages. Heads are absolute: one tells of all up to it.
fn take(news: &News, is_sender: bool, group: &str, heard: &mut usize, watch: &Watch) {
    match news {
        News::UnreadChanged { conversation_id, head_seq, .. }
            if !is_sender && conversation_id.as_str() == group =>
        {
            let now_heard = (head_seq.get() + 1).saturating_sub(FIRST) as usize;
            let sent = watch.sent.lock().unwrap_or_else(PoisonError::into_inner);
            sent.iter().take(now_heard).skip(*heard).for_each(|at| watch.messages.since(*at));
            *heard = now_heard.max(*heard);
        }
        News::MessageRead { conversation_id, seq, read, .. } if conversation_id.as_str() == group => {
            watch.acks.known(seq.get(), *read as usize);
        }
        News::UnreadChanged { .. } | News::MessageRead { .. } | News::ConversationRead { .. } => {}
    }
}
