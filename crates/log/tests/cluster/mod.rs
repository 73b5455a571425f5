//! A Kafka for tests, started by `scripts/services`.
#![allow(dead_code, reason = "each test file uses its part")]

use readmark_events::Topic;
use readmark_log::kafka::{KafkaLogOptions, TopicPlan, create_topics, delete_topics};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A set of parts that `scripts/services` runs.
pub struct Cluster {
    directory: Option<PathBuf>,
    port: Option<String>,
    brokers: String,
}

impl Cluster {
    /// The one that all tests use together.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(|| Self::up(None, None))
    }

    /// One of a test's own, that it may kill, with its data in that directory.
    pub fn own(name: &str, port: u16) -> Self {
        let directory = repository().join("target/services").join(name);
        Self::up(Some(directory), Some(port.to_string()))
    }

    fn up(directory: Option<PathBuf>, port: Option<String>) -> Self {
        let mut cluster = Self { directory, port, brokers: String::new() };
        cluster.start();
        let variables = cluster.services(&["env"]);
        let brokers = variables.lines().find_map(|line| line.strip_prefix("export READMARK_LOG__BROKERS="));
        cluster.brokers = brokers.expect("scripts/services env names the brokers").to_owned();
        cluster
    }

    /// Starts what does not run.
    pub fn start(&self) {
        self.services(&["up", "kafka"]);
    }

    pub fn down(&self) {
        self.services(&["down", "kafka"]);
    }

    pub fn brokers(&self) -> &str {
        &self.brokers
    }

    /// `kill -9` of its only broker.
    pub fn kill(&self) {
        let directory = self.directory.as_ref().expect("only a cluster of one's own may be killed");
        let pid = std::fs::read_to_string(directory.join("kafka-1.pid")).expect("a pid file");
        let pid = pid.split_whitespace().next().expect("a pid");
        let killed = Command::new("kill").args(["-9", pid]).status().expect("kill");
        assert!(killed.success(), "kill -9 {pid}");
        let start = Instant::now();
        while self.services(&["status"]).contains("kafka-1") {
            assert!(start.elapsed() < Duration::from_secs(30), "{pid} does not end");
        }
    }

    /// Options with a prefix that no other test has.
    pub fn options(&self) -> KafkaLogOptions {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        KafkaLogOptions::new(&self.brokers, format!("t{now}-{}-{count}", std::process::id()))
    }

    fn services(&self, arguments: &[&str]) -> String {
        let script = repository().join("scripts/services");
        let mut command = Command::new(&script);
        command.args(arguments);
        if let Some(directory) = &self.directory {
            command.env("READMARK_SERVICES_DIR", directory);
        }
        if let Some(port) = &self.port {
            command.env("READMARK_SERVICES_PORT", port);
        }
        let done = command.output().unwrap_or_else(|error| panic!("{}: {error}", script.display()));
        assert!(
            done.status.success(),
            "this test needs a Kafka and none could be started. Run `scripts/services up kafka`, which says:\n{}",
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8(done.stdout).expect("text")
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// All topics, on one broker.
pub async fn create_all(options: &KafkaLogOptions, partitions: u32) {
    let plans: Vec<TopicPlan> = Topic::ALL
        .into_iter()
        .map(|topic| TopicPlan { topic, partitions, replication: 1, settings: BTreeMap::new() })
        .collect();
    create_topics(options, &plans).await.expect("the topics are made");
}

/// Removes them, from within a drop.
pub fn delete_all(options: KafkaLogOptions) {
    let gone = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(delete_topics(&options, &Topic::ALL))
    });
    if let Ok(Err(error)) = gone.join() {
        println!("topics left behind: {error}");
    }
}
