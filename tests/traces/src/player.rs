//! Sends a trace as an IM backend and its readers would.

use crate::trace::{Kind, Step, Trace};
use readmark_test_harness::{Caller, Server};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Who hands in the reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// The backend, among the events.
    ByBackend,
    /// The readers, each with a token of its own.
    ByReaders,
}

/// How to play.
#[derive(Debug, Clone, Copy)]
pub struct Play {
    /// Events a request.
    pub batch: usize,
    /// Requests with reads that may be under way at once; with 1 and reads by the backend, everything goes
    /// in the order of the trace.
    pub in_flight: usize,
    /// Is every request sent again right after it was answered?
    pub twice: bool,
    /// Who hands in the reads.
    pub reads: Reads,
    /// Time of the server's being up that the events are spread over; zero for full speed.
    pub spread_over: Duration,
}

impl Play {
    /// At full speed, in large batches, in order.
    pub const FULL_SPEED: Self =
        Self { batch: 500, in_flight: 1, twice: false, reads: Reads::ByBackend, spread_over: Duration::ZERO };

    /// Everything again right after it was answered.
    pub const TWICE: Self = Self { batch: 100, twice: true, ..Self::FULL_SPEED };

    /// Reads by the readers themselves.
    pub const BY_READERS: Self =
        Self { batch: 100, in_flight: 16, reads: Reads::ByReaders, ..Self::FULL_SPEED };

    /// Over enough time for several crashes.
    pub const SLOWLY: Self = Self { batch: 50, spread_over: Duration::from_secs(9), ..Self::FULL_SPEED };

    /// The same, with reads by the readers themselves.
    pub const SLOWLY_BY_READERS: Self = Self { in_flight: 8, reads: Reads::ByReaders, ..Self::SLOWLY };

    const fn times(&self) -> usize {
        if self.twice { 2 } else { 1 }
    }
}

/// Plays a trace and returns when every request has been answered.
pub async fn play(server: &Server, trace: &Trace, play: Play) {
    let mut player = Player {
        server: server.clone(),
        backend: server.as_service(),
        conversation_id: trace.conversation_id.clone(),
        play,
        in_flight: Arc::new(Semaphore::new(play.in_flight)),
        reads: BTreeMap::new(),
    };
    let begun = server.uptime().total();
    let mut sent = 0;
    for part in parts(&trace.steps, play) {
        let due = play.spread_over.mul_f64(sent as f64 / trace.steps.len() as f64);
        server.uptime().reach(begun + due).await;
        player.send(part).await;
        sent += part.len();
    }
    for (_, reads) in player.reads {
        reads.join_all().await;
    }
}

/// Cuts the trace into requests. Readers' own reads are sent beside the events that follow them, so a leave
/// must not travel with the leaving user's read before it.
fn parts(steps: &[Step], play: Play) -> Vec<&[Step]> {
    let mut parts = Vec::new();
    let (mut start, mut readers) = (0, BTreeSet::new());
    for (at, step) in steps.iter().enumerate() {
        let cuts = play.reads == Reads::ByReaders && step.kind == Kind::Left && readers.contains(&step.uid);
        if at - start == play.batch || cuts {
            parts.push(&steps[start..at]);
            (start, readers) = (at, BTreeSet::new());
        }
        if matches!(step.kind, Kind::Read { .. }) {
            readers.insert(step.uid);
        }
    }
    parts.push(&steps[start..]);
    parts
}

struct Player {
    server: Server,
    backend: Caller,
    conversation_id: String,
    play: Play,
    in_flight: Arc<Semaphore>,
    /// Reads under way: by reader, or all under 0 when the backend hands them in.
    reads: BTreeMap<u64, JoinSet<()>>,
}

impl Player {
    async fn send(&mut self, part: &[Step]) {
        let together = self.play.in_flight == 1 && self.play.reads == Reads::ByBackend;
        let is_read = |step: &&Step| matches!(step.kind, Kind::Read { .. });
        let (reads, events): (Vec<_>, Vec<_>) = part.iter().partition(|step| !together && is_read(step));
        for left in events.iter().filter(|step| step.kind == Kind::Left) {
            if let Some(own_reads) = self.reads.remove(&left.uid) {
                own_reads.join_all().await;
            }
        }
        let events: Vec<Value> = events.iter().map(|step| step.event.clone()).collect();
        for _ in 0..self.play.times().min(events.len() * 2) {
            self.backend.events(&events).await;
        }
        match self.play.reads {
            Reads::ByBackend if reads.is_empty() => {}
            Reads::ByBackend => self.backend_reads(&reads).await,
            Reads::ByReaders => {
                for step in reads {
                    self.reader_reads(step).await;
                }
            }
        }
    }

    async fn backend_reads(&mut self, reads: &[&Step]) {
        let events: Vec<Value> = reads.iter().map(|step| step.event.clone()).collect();
        let (backend, times) = (self.backend.clone(), self.play.times());
        let permit = Arc::clone(&self.in_flight).acquire_owned().await.expect("never closed");
        self.reads.entry(0).or_default().spawn(async move {
            for _ in 0..times {
                backend.events(&events).await;
            }
            drop(permit);
        });
    }

    async fn reader_reads(&mut self, step: &Step) {
        let Kind::Read { up_to_seq } = step.kind else { return };
        let path = format!("/v1/conversations/{}/read", self.conversation_id);
        let (reader, times) = (self.server.as_user(step.uid, "irc"), self.play.times());
        let permit = Arc::clone(&self.in_flight).acquire_owned().await.expect("never closed");
        self.reads.entry(step.uid).or_default().spawn(async move {
            for _ in 0..times {
                let reply =
                    reader.post_until_answered(&path, &json!({"up_to_seq": up_to_seq.to_string()})).await;
                let read_seq = reply.expect(202).json()["read_seq"].as_str().and_then(|seq| seq.parse().ok());
                assert!(read_seq >= Some(up_to_seq), "asked {up_to_seq}, answered {read_seq:?}");
            }
            drop(permit);
        });
    }
}
