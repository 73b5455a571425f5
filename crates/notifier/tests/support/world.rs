use super::clock::TestClock;
use super::hot::TestHot;
use super::log::{TestLog, partition};
use prometheus::Registry;
use readmark_aggregator::{Aggregator, AggregatorMetrics};
use readmark_catalog::{Catalog, CatalogMetrics};
use readmark_domain::hot::Picture;
use readmark_events::{Fact, Topic, header_name};
use readmark_hot::memory::MemoryHot;
use readmark_log::{EventLog, NewRecord, Offset};
use readmark_notifier::{Notifier, NotifierMetrics};
use readmark_runtime::clock::Clock;
use readmark_runtime::metrics::SharedMetrics;
use readmark_runtime::ports::{Ports, Rules};
use readmark_runtime::role::Role;
use readmark_store::memory::MemoryStore;
use readmark_sync::{Live, LiveSettings, derived_picture};
use readmark_watermark::{Watermark, WatermarkMetrics};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::facts::uid;

/// Records handed over at once.
const BATCH: usize = 200;

/// The roles and their parts.
pub struct World {
    pub clock: Arc<TestClock>,
    pub log: Arc<TestLog>,
    pub store: Arc<MemoryStore>,
    pub hot: Arc<TestHot>,
    pub live: Arc<Live>,
    pub metrics: NotifierMetrics,
    shared: SharedMetrics,
    ports: Ports,
    rules: Rules,
    /// Those before the notifier.
    others: Vec<Box<dyn Role>>,
    notifier: Option<Notifier>,
    fed: BTreeMap<(&'static str, Topic), Offset>,
}

impl World {
    /// With everything running.
    pub async fn new() -> Self {
        let clock = Arc::new(TestClock::default());
        let told = clock.clone();
        let now: readmark_hot::memory::Now = Arc::new(move || told.now());
        let store = Arc::new(MemoryStore::new(now.clone()));
        let hot = Arc::new(TestHot::new(MemoryHot::with_random_epochs(now)));
        let log = Arc::new(TestLog::default());
        let ports = Ports { log: log.clone(), store: store.clone(), clock: clock.clone() };
        let (rules, registry) = (Rules::default(), Registry::new());
        let shared = SharedMetrics::register(&registry).unwrap();
        let given = || (ports.clone(), rules.clone(), shared.clone());
        let (p, r, s) = given();
        let catalog = Catalog::new(p, r, s, CatalogMetrics::register(&registry).unwrap());
        let (p, r, s) = given();
        let watermark = Watermark::new(p, r, s, WatermarkMetrics::register(&registry).unwrap());
        let (p, r, s) = given();
        let aggregator = Aggregator::new(p, r, s, AggregatorMetrics::register(&registry).unwrap());
        let live = Live::new(&ports, hot.clone(), &LiveSettings::default(), &registry).unwrap();
        let metrics = NotifierMetrics::register(&registry).unwrap();
        let mut world = Self {
            clock,
            log,
            store,
            hot,
            live,
            metrics,
            shared,
            ports,
            rules,
            others: vec![Box::new(catalog), Box::new(watermark), Box::new(aggregator)],
            notifier: None,
            fed: BTreeMap::new(),
        };
        world.start_notifier().await;
        world
    }

    /// A notifier that goes on at the positions stored.
    pub async fn start_notifier(&mut self) {
        let (hot, shared, metrics) = (self.hot.clone(), self.shared.clone(), self.metrics.clone());
        let mut notifier = Notifier::new(self.ports.clone(), hot, &self.rules, shared, metrics);
        let group = self.rules.group(Notifier::NAME);
        for topic in Notifier::TOPICS {
            let stored = self.log.committed(&group, partition(*topic)).await.unwrap().unwrap_or(0);
            self.fed.insert((Notifier::NAME, *topic), stored);
        }
        notifier
            .take_over(&Notifier::TOPICS.iter().map(|topic| partition(*topic)).collect::<Vec<_>>())
            .await
            .unwrap();
        self.notifier = Some(notifier);
    }

    /// The notifier that runs.
    pub fn notifier(&mut self) -> &mut Notifier {
        self.notifier.as_mut().unwrap()
    }

    /// The notifier is killed: what it had not stored comes again.
    pub fn kill_notifier(&mut self) {
        self.notifier = None;
    }

    /// A fact, accepted now.
    pub async fn say(&self, fact: impl Fact) {
        let record = NewRecord::of(&fact).unwrap();
        let record = record.with_header(header_name::ACCEPTED_AT_MS, self.clock.now());
        self.log.append(vec![record]).await.unwrap();
    }

    /// Until nobody has anything left to do.
    pub async fn settle(&mut self) {
        loop {
            if self.turn().await {
                continue;
            }
            let roles = self.others.iter().map(|role| role.next_wake_ms());
            let wake = roles.chain(self.notifier.as_ref().map(|role| role.next_wake_ms())).flatten().min();
            match wake {
                None => return,
                Some(at_ms) => self.clock.sleep_ms(at_ms.saturating_sub(self.clock.elapsed_ms())).await,
            }
        }
    }

    /// Hands over what there is, once; says whether there was anything.
    pub async fn turn(&mut self) -> bool {
        let mut moved = false;
        let notifier = self.notifier.as_mut().map(|role| role as &mut dyn Role);
        for role in self.others.iter_mut().map(|role| &mut **role as &mut dyn Role).chain(notifier) {
            for topic in role.topics() {
                let fed = self.fed.entry((role.name(), *topic)).or_default();
                let mut records = self.log.from(*topic, *fed);
                records.truncate(BATCH);
                let Some(last) = records.last() else { continue };
                *fed = last.position.offset + 1;
                role.absorb(records).await.unwrap();
                moved = true;
            }
            role.advance().await.unwrap();
            let positions = role.progress().to_store();
            role.progress().stored(&positions);
            self.log.commit(&self.rules.group(role.name()).0, &positions);
        }
        moved
    }

    /// What the store says of a user.
    pub async fn truth(&self, user: u64) -> Picture {
        derived_picture(&*self.store, uid(user)).await.unwrap()
    }
}
