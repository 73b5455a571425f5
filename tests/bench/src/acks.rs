//! Acks of the messages of a group, each timed from its call until the sender learns of it.

use crate::device::Clients;
use crate::group::{Group, SENDER};
use crate::latencies::Latencies;
use readmark_client::Acked;
use readmark_domain::id::{ConversationId, Seq};
use readmark_test_harness::Server;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::Interval;

#[derive(Debug, Default)]
struct Message {
    /// When each ack was posted.
    posted: Vec<Instant>,
    /// How many of them the sender knows.
    known: usize,
}

/// When acks were posted, and how long it took until the sender knew. Tallies name no ack: one that tells of N readers
/// tells of the first N acks.
#[derive(Debug, Clone, Default)]
pub struct AckTimes {
    messages: Arc<Mutex<BTreeMap<u64, Message>>>,
    /// What was measured so far.
    pub latencies: Latencies,
}

impl AckTimes {
    fn messages(&self) -> MutexGuard<'_, BTreeMap<u64, Message>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An ack is posted now.
    fn posted(&self, seq: u64) {
        self.messages().entry(seq).or_default().posted.push(Instant::now());
    }

    /// The sender learns now that so many have read; says how many that are.
    pub fn known(&self, seq: u64, read: usize) -> usize {
        let mut messages = self.messages();
        let message = messages.entry(seq).or_default();
        let read = read.min(message.posted.len());
        for at in message.posted.iter().take(read).skip(message.known) {
            self.latencies.since(*at);
        }
        message.known = message.known.max(read);
        message.known
    }
}

/// Posts the acks of all readers of a group at an even rate, whether or not the answers come as fast.
pub struct Poster {
    clients: Clients,
    group: Group,
    times: AckTimes,
    tick: Interval,
    posts: JoinSet<()>,
}

impl Poster {
    /// For this group.
    #[must_use]
    pub fn new(server: &Server, group: &Group, acks_per_s: u64, times: &AckTimes) -> Self {
        let tick = tokio::time::interval(Duration::from_secs_f64(1.0 / acks_per_s as f64));
        Self {
            clients: Clients::new(server),
            group: group.clone(),
            times: times.clone(),
            tick,
            posts: JoinSet::new(),
        }
    }

    /// Every reader acks this message.
    pub async fn message(&mut self, seq: u64) {
        let id = ConversationId::new(&self.group.id).expect("an id");
        let acked = [Acked { seq: Seq::new(seq).expect("a seq"), sender_uid: None }];
        for reader in (1..=self.group.members).filter(|uid| *uid != SENDER) {
            self.tick.tick().await;
            let (client, id) = (self.clients.of(reader, "phone"), id.clone());
            let times = self.times.clone();
            self.posts.spawn(async move {
                times.posted(seq);
                let answered =
                    client.acks(&id, &acked).await.unwrap_or_else(|e| panic!("user {reader}: {e}"));
                assert_eq!(answered.accepted, 1, "user {reader}: {answered:?}");
            });
        }
    }

    /// Waits until all are answered.
    pub async fn answered(self) {
        self.posts.join_all().await;
    }
}

#[cfg(test)]
mod tests {
    use super::AckTimes;

    #[test]
    fn each_ack_is_counted_once() {
        let times = AckTimes::default();
        (0..3).for_each(|_| times.posted(7));
        assert_eq!(times.known(7, 2), 2);
        assert_eq!(times.known(7, 1), 2, "an older tally");
        assert_eq!(times.known(7, 3), 3);
        assert_eq!(times.latencies.count(), 3);
    }
}
