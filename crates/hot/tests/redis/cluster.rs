//! The conformance suite on a cluster of three nodes, and what only a cluster does.

use super::{PREFIX, SHORT_LEASE_MS, head, open, rebuilt, told, uid, unread};
use async_trait::async_trait;
use readmark_hot::conformance::{self, Group, Loss, Subject};
use readmark_hot::redis::{RedisHot, RedisOptions};
use readmark_hot::{Held, HotState, Wakeup};
use readmark_test_services::redis::{Server, WRITES_DOWN};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, OwnedMutexGuard};

const DEADLINE: Duration = Duration::from_secs(60);
const SLOTS: u32 = 16_384;

struct Cluster {
    nodes: Vec<Server>,
}

impl Cluster {
    /// Three masters, each with a third of the slots.
    async fn start() -> Self {
        let mut nodes = Vec::new();
        for _ in 0..3 {
            let clustered = ["--cluster-enabled", "yes", "--cluster-node-timeout", "3000"];
            nodes.push(Server::start_with(&[clustered, WRITES_DOWN].concat()).await);
        }
        for (n, node) in (0..).zip(&nodes) {
            let (first, last) = (n * SLOTS / 3, (n + 1) * SLOTS / 3 - 1);
            node.ask::<()>(&["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()]).await;
            node.ask::<()>(&["CLUSTER", "SET-CONFIG-EPOCH", &(n + 1).to_string()]).await;
            node.ask::<()>(&["CLUSTER", "MEET", "127.0.0.1", &nodes[0].port.to_string()]).await;
        }
        let cluster = Self { nodes };
        cluster.wait().await;
        cluster
    }

    /// Waits until every node sees all slots served by three nodes.
    async fn wait(&self) {
        for node in &self.nodes {
            let start = Instant::now();
            loop {
                let info: String = node.ask(&["CLUSTER", "INFO"]).await;
                let all =
                    ["cluster_state:ok", "cluster_slots_ok:16384", "cluster_known_nodes:3", "cluster_size:3"];
                if all.iter().all(|line| info.contains(line)) {
                    break;
                }
                assert!(start.elapsed() < DEADLINE, "no cluster: {info}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }

    fn urls(&self) -> String {
        self.nodes.iter().map(Server::url).collect::<Vec<_>>().join(",")
    }

    /// The node that has this user.
    async fn node_of(&self, n: u64) -> usize {
        let slot: u32 = self.nodes[0].ask(&["CLUSTER", "KEYSLOT", &format!("{{{n}}}")]).await;
        (0..3).find(|node| slot < (node + 1) * SLOTS / 3).expect("three nodes") as usize
    }
}

struct OnCluster {
    cluster: OwnedMutexGuard<Cluster>,
    hot: Arc<RedisHot>,
}

#[async_trait]
impl Subject for OnCluster {
    fn hot(&self) -> Arc<dyn HotState> {
        self.hot.clone()
    }

    async fn lose(&mut self, loss: Loss) {
        for node in &mut self.cluster.nodes {
            match loss {
                Loss::Scripts => node.ask(&["SCRIPT", "FLUSH"]).await,
                Loss::States => node.ask(&["FLUSHALL"]).await,
                Loss::Restart => {
                    node.kill();
                    node.start_again().await;
                }
            }
        }
        self.cluster.wait().await;
    }

    async fn pass_ms(&self, _: u64) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    async fn shorten_lease(&mut self) {
        let options = RedisOptions {
            rebuild_lease_ms: SHORT_LEASE_MS,
            ..RedisOptions::new(&self.cluster.urls(), PREFIX)
        };
        self.hot = Arc::new(RedisHot::open(&options).await.expect("open"));
    }
}

/// Subjects one after the other on one cluster, empty each time.
struct Subjects(Arc<Mutex<Cluster>>);

impl Subjects {
    async fn start() -> Self {
        Self(Arc::new(Mutex::new(Cluster::start().await)))
    }

    async fn subject(&self) -> Box<dyn Subject> {
        let cluster = Arc::clone(&self.0).lock_owned().await;
        for node in &cluster.nodes {
            node.ask::<()>(&["FLUSHALL"]).await;
        }
        let hot = Arc::new(open(&cluster.urls()).await.expect("open"));
        Box::new(OnCluster { cluster, hot })
    }
}

async fn run(group: &Group) {
    let subjects = Subjects::start().await;
    conformance::run(group, || subjects.subject()).await;
}

readmark_hot::hot_state_conformance!(run);

#[tokio::test(flavor = "multi_thread")]
async fn differential() {
    let subjects = Subjects::start().await;
    conformance::run_differential(|| subjects.subject()).await;
}

/// One address is enough, and users of every node are served.
#[tokio::test(flavor = "multi_thread")]
async fn one_node_leads_to_all() {
    let cluster = Cluster::start().await;
    let hot = open(&cluster.nodes[0].url()).await.expect("open");
    for n in 0..30 {
        rebuilt(&hot, uid(n), 1).await;
    }
    let mut users = 0;
    for node in &cluster.nodes {
        let keys: Vec<String> = node.ask(&["KEYS", "test:{*}:user"]).await;
        assert!(!keys.is_empty());
        users += keys.len();
    }
    assert_eq!(users, 30);
    assert_eq!(hot.usage().await.expect("usage").users, 30);
}

/// A slot moves to another node, with its keys, in the midst of calls. Its states are of another reign there.
#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_moves_is_followed() {
    let cluster = Cluster::start().await;
    let hot = open(&cluster.urls()).await.expect("open");
    let (watch, mut wakeups) = hot.subscribe().await.expect("subscribe");
    for n in 0..30 {
        rebuilt(&hot, uid(n), 1).await;
    }
    watch.add(uid(7)).await;
    let from = cluster.node_of(7).await;
    let (source, target) = (&cluster.nodes[from], &cluster.nodes[(from + 1) % 3]);
    let slot: u64 = source.ask(&["CLUSTER", "KEYSLOT", "{7}"]).await;
    let slot = slot.to_string();
    let source_id: String = source.ask(&["CLUSTER", "MYID"]).await;
    let target_id: String = target.ask(&["CLUSTER", "MYID"]).await;
    target.ask::<()>(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &source_id]).await;
    source.ask::<()>(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &target_id]).await;
    let keys: Vec<String> = source.ask(&["CLUSTER", "GETKEYSINSLOT", &slot, "100"]).await;
    assert!(keys.len() >= 2, "{keys:?}");
    let port = target.port.to_string();
    let mut migrate = vec!["MIGRATE", "127.0.0.1", &port, "", "0", "10000", "KEYS"];
    migrate.extend(keys.iter().map(String::as_str));
    source.ask::<()>(&migrate).await;
    for node in [target, source, &cluster.nodes[(from + 2) % 3]] {
        node.ask::<()>(&["CLUSTER", "SETSLOT", &slot, "NODE", &target_id]).await;
    }
    let all: Vec<_> = (0..30).map(|n| told(uid(n), head(2))).collect();
    for (n, answer) in (0..).zip(hot.apply(&all).await) {
        assert_eq!(answer.expect("apply").is_none(), n == 7, "user {n}");
    }
    rebuilt(&hot, uid(7), 3).await;
    assert_eq!(unread(&hot, uid(7)).await.expect("picture"), Held::Complete(3));
    // The subscription followed: in doubt all are woken, then the user again.
    let start = Instant::now();
    for n in 4.. {
        assert!(start.elapsed() < DEADLINE, "user 7 wakes nobody");
        hot.apply(&[told(uid(7), head(n))]).await.remove(0).expect("apply");
        tokio::time::sleep(Duration::from_millis(10)).await;
        let mut is_woken = false;
        while let Some(wakeup) = wakeups.try_next() {
            is_woken |= n > 4 && wakeup == Wakeup::User(uid(7));
        }
        if is_woken {
            break;
        }
    }
}

/// One node is away: users of the others are served, and each answer says which it was.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_away_is_away_for_its_own_users() {
    let mut cluster = Cluster::start().await;
    for node in &cluster.nodes {
        node.ask::<()>(&["CONFIG", "SET", "cluster-require-full-coverage", "no"]).await;
    }
    let hot = open(&cluster.urls()).await.expect("open");
    let mut away = Vec::new();
    for n in 0..30 {
        rebuilt(&hot, uid(n), 1).await;
        away.push(cluster.node_of(n).await == 1);
    }
    cluster.nodes[1].kill();
    let all: Vec<_> = (0..30).map(|n| told(uid(n), head(2))).collect();
    for (n, answer) in hot.apply(&all).await.into_iter().enumerate() {
        match answer {
            Ok(applied) => assert!(!away[n] && applied.is_some(), "user {n}: {applied:?}"),
            Err(error) => assert!(away[n] && error.is_retryable(), "user {n}: {error}"),
        }
    }
    assert!(hot.probe().await.is_err_and(|error| error.is_retryable()));
    cluster.nodes[1].start_again().await;
    cluster.wait().await;
    let start = Instant::now();
    while hot.probe().await.is_err() {
        assert!(start.elapsed() < DEADLINE, "it does not recover");
    }
    for (n, answer) in hot.apply(&all).await.into_iter().enumerate() {
        assert_eq!(answer.expect("apply").is_none(), away[n], "user {n}");
    }
}
