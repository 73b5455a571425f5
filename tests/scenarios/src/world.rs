//! What the steps of one scenario share.

use crate::names::{Names, seqs};
use readmark_test_harness::Server;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::task::JoinHandle;

/// The scenario's own scale of time begins this long ago.
const BASE_BEFORE_NOW_MS: i64 = 3_600_000;

/// Where a topic's partitions ended: (partition, offset).
pub type Ends = Vec<(u32, u64)>;

/// One run of a scenario.
pub struct World {
    /// The server, for this scenario alone.
    pub server: Server,
    /// Does this installation order facts about members by `version`?
    pub orders_by_version: bool,
    names: Mutex<Names>,
    base_ms: i64,
    last_ms: AtomicU64,
    noted: Mutex<BTreeMap<String, Ends>>,
    over: Arc<AtomicBool>,
    watches: Mutex<Vec<JoinHandle<()>>>,
    /// Rounds of the fence so far; `None` before its members have joined.
    pub fence_rounds: tokio::sync::Mutex<Option<u64>>,
}

impl World {
    /// Of a server.
    #[must_use]
    pub fn new(server: Server, orders_by_version: bool) -> Self {
        let now = i64::try_from(readmark_test_harness::now_ms()).expect("fits 63 bits");
        Self {
            server,
            orders_by_version,
            names: Mutex::default(),
            base_ms: now - BASE_BEFORE_NOW_MS,
            last_ms: AtomicU64::new(0),
            noted: Mutex::default(),
            over: Arc::default(),
            watches: Mutex::default(),
            fence_rounds: tokio::sync::Mutex::default(),
        }
    }

    /// The uid of a name.
    pub fn uid(&self, name: &str) -> u64 {
        self.names.lock().unwrap().uid(name)
    }

    /// The uids of a list of names; `{i}` is the round of a repetition.
    pub fn uids(&self, list: &str, round: u64) -> Vec<u64> {
        self.names.lock().unwrap().uids(&list.replace("{i}", &round.to_string()))
    }

    /// The seqs of a list; `{i}` is the round of a repetition.
    #[must_use]
    pub fn seqs(&self, list: &str, round: u64) -> Vec<u64> {
        seqs(&list.replace("{i}", &round.to_string()))
    }

    /// Text with names filled in.
    pub fn fill(&self, text: &str) -> String {
        self.names.lock().unwrap().fill(text, readmark_test_harness::now_ms())
    }

    /// The time of a step: what it says, on the scenario's scale, else now, later than every step before.
    pub fn occurred_at(&self, at: Option<i64>) -> String {
        if let Some(at) = at {
            return (self.base_ms + at).to_string();
        }
        let now = readmark_test_harness::now_ms();
        let before =
            self.last_ms.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |last| Some(now.max(last + 1)));
        now.max(before.unwrap_or_default() + 1).to_string()
    }

    /// Remembers where every topic ends.
    pub async fn note(&self) {
        for topic in
            ["conversation-events", "acks", "marks", "conversation-changed", "read-changed", "dead-letters"]
        {
            let ends = self.server.topic_ends(topic).await.iter().map(|p| (p.partition, p.end)).collect();
            self.noted.lock().unwrap().insert(topic.to_owned(), ends);
        }
    }

    /// Where a topic ended at the last note.
    pub fn noted(&self, topic: &str) -> Ends {
        self.noted.lock().unwrap().get(topic).cloned().expect("a note comes before a check with `since`")
    }

    /// Is the scenario over? Watches end then.
    #[must_use]
    pub fn over(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.over)
    }

    /// Takes a watch.
    pub fn watch(&self, watch: JoinHandle<()>) {
        self.watches.lock().unwrap().push(watch);
    }

    /// Ends the watches; fails when one has seen what must never be.
    pub async fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
        let watches = std::mem::take(&mut *self.watches.lock().unwrap());
        for watch in watches {
            watch.await.unwrap_or_else(|e| panic!("a watch failed: {e}"));
        }
    }
}
