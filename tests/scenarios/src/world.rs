//! What the steps of one scenario share.

use crate::devices::DevicesByUser;
use crate::format::Scenario;
use crate::names::{Names, seqs};
use crate::parts::Parts;
use crate::redis::Redis;
use crate::topics::{Ends, Topics};
use readmark_test_harness::metrics::{self, Sample};
use readmark_test_harness::{Server, TopicRecord};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::task::JoinHandle;

/// The scenario's own scale of time begins this long ago.
const BASE_BEFORE_NOW_MS: i64 = 3_600_000;

/// A server, which scenarios may share, and its topics.
#[derive(Clone)]
pub struct Served {
    /// The server.
    pub server: Server,
    /// Its topics.
    pub topics: Arc<Topics>,
}

/// One run of a scenario.
pub struct World {
    /// The server.
    pub server: Server,
    /// What it runs on.
    pub parts: Parts,
    /// The scenario's place among all, which no other one has.
    pub number: u64,
    /// Its id.
    pub id: String,
    /// Does this installation order facts about members by `version`?
    pub orders_by_version: bool,
    /// Devices that follow their user's stream.
    pub devices: DevicesByUser,
    /// The scenario's own Redis, where it does something to it.
    pub redis: Option<Redis>,
    /// Rounds of the fence so far; `None` before its members have joined.
    pub fence_rounds: tokio::sync::Mutex<Option<u64>>,
    topics: Arc<Topics>,
    names: Mutex<Names>,
    base_ms: i64,
    last_ms: AtomicU64,
    noted: Mutex<BTreeMap<&'static str, Ends>>,
    over: Arc<AtomicBool>,
    watches: Mutex<Vec<JoinHandle<()>>>,
    /// What the server had counted before the scenario.
    counted_before: Mutex<Vec<Sample>>,
}

impl World {
    /// Of a server.
    pub async fn new(
        scenario: &Scenario,
        number: u64,
        parts: Parts,
        served: Served,
        redis: Option<Redis>,
    ) -> Self {
        let counted_before = Mutex::new(served.server.metrics().await);
        let now = i64::try_from(readmark_test_harness::now_ms()).expect("fits 63 bits");
        let order = scenario.env.get("READMARK_ORDER__SOURCE");
        Self {
            server: served.server,
            parts,
            number,
            id: scenario.id.clone(),
            orders_by_version: order.is_some_and(|source| source == "version"),
            devices: DevicesByUser::default(),
            redis,
            fence_rounds: tokio::sync::Mutex::default(),
            topics: served.topics,
            names: Mutex::new(Names::of(&scenario.id, number)),
            base_ms: now - BASE_BEFORE_NOW_MS,
            last_ms: AtomicU64::new(0),
            noted: Mutex::default(),
            over: Arc::default(),
            watches: Mutex::default(),
            counted_before,
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

    /// The id of a conversation.
    pub fn conversation(&self, name: &str) -> String {
        self.names.lock().unwrap().conversation(name)
    }

    /// The seqs of a list; `{i}` is the round of a repetition.
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

    /// The records of a topic whose key is a user or a conversation of this scenario.
    pub async fn records(&self, topic: &str) -> Vec<Arc<TopicRecord>> {
        self.topics.find(topic, |record| self.owns(record)).await
    }

    /// Those of them that came after the last note.
    pub async fn records_since_note(&self, topic: &str) -> Vec<Arc<TopicRecord>> {
        let noted = self.noted.lock().unwrap().get(topic).cloned();
        let noted = noted.expect("a note comes before a check with `since`");
        let is_since = |record: &TopicRecord| record.offset >= noted[&record.partition] && self.owns(record);
        self.topics.find(topic, is_since).await
    }

    /// The records of a topic whose key is wanted.
    pub async fn records_by_key(
        &self,
        topic: &str,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Vec<Arc<TopicRecord>> {
        self.topics.find(topic, |record| record.key.as_deref().is_some_and(&is_wanted)).await
    }

    fn owns(&self, record: &TopicRecord) -> bool {
        record.key.as_deref().is_some_and(|key| self.names.lock().unwrap().owns(key))
    }

    /// Remembers where every topic ends, and what every device was told.
    pub async fn note(&self) {
        for topic in Topics::names() {
            let ends = self.topics.ends(topic).await;
            self.noted.lock().unwrap().insert(topic, ends);
        }
        self.devices.note();
    }

    /// The value of a metric; of one that counts, what came in this scenario.
    pub async fn metric(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let value = metrics::sum(&self.server.metrics().await, name, labels);
        let before = metrics::sum(&self.counted_before.lock().unwrap(), name, labels);
        if name.ends_with("_total") { value - before } else { value }
    }

    /// Says that the server counts from 0 again.
    pub fn counts_anew(&self) {
        self.counted_before.lock().unwrap().clear();
    }

    /// Is the scenario over? Watches end then.
    pub fn over(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.over)
    }

    /// Takes a watch.
    pub fn watch(&self, watch: JoinHandle<()>) {
        self.watches.lock().unwrap().push(watch);
    }

    /// Ends the watches; fails when one, or a device, has seen what must never be.
    pub async fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
        let watches = std::mem::take(&mut *self.watches.lock().unwrap());
        for watch in watches {
            watch.await.unwrap_or_else(|e| panic!("a watch failed: {}", crate::run::said(e)));
        }
        self.devices.check();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // Also when a step has failed: nobody looks any more.
        self.over.store(true, Ordering::SeqCst);
    }
}
