//! A Kafka for tests, started by `scripts/services`.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod traffic;

use readmark_events::Topic;
use readmark_log::kafka::{KafkaLog, KafkaLogOptions, TopicPlan, create_topics, delete_topics};
use readmark_log::{EventLog, LogError, TopicPartition};
use readmark_test_services::Services;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Far beyond what anything takes.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// Kafka's own tools, by the names of their scripts.
const TOOLS: [(&str, &str); 4] = [
    ("kafka-acls.sh", "org.apache.kafka.tools.AclCommand"),
    ("kafka-configs.sh", "org.apache.kafka.tools.ConfigCommand"),
    ("kafka-reassign-partitions.sh", "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"),
    ("kafka-topics.sh", "org.apache.kafka.tools.TopicCommand"),
];

/// How a cluster of a test's own differs from the one that all tests use together.
#[derive(Default)]
pub struct Kind {
    /// 1 or 3; 1 when it is 0.
    pub brokers: u32,
    /// Further settings of the brokers.
    pub settings: Option<PathBuf>,
    /// SCRAM users.
    pub users: &'static str,
}

/// A set of parts that `scripts/services` runs.
pub struct Cluster {
    /// Only of a test's own.
    directory: Option<PathBuf>,
    environment: Vec<(&'static str, String)>,
    up: Vec<String>,
    brokers: String,
}

impl Cluster {
    /// The one that all tests use together.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(|| Self::up(None, Services::shared().variables().into(), 1))
    }

    /// One of a test's own, that it may kill and that goes with it; its data is in that directory.
    pub fn own(name: &str, port: u16, kind: Kind) -> Self {
        let directory = Services::shared().beside(name);
        let mut environment = vec![
            ("SERVICES_DIR", directory.display().to_string()),
            ("SERVICES_PORT", port.to_string()),
            ("SERVICES_KAFKA_USERS", kind.users.to_owned()),
        ];
        environment.extend(kind.settings.map(|file| ("SERVICES_KAFKA", file.display().to_string())));
        Self::up(Some(directory), environment, kind.brokers.max(1))
    }

    fn up(directory: Option<PathBuf>, environment: Vec<(&'static str, String)>, brokers: u32) -> Self {
        let up = ["up", "kafka", "--brokers", &brokers.to_string()].map(str::to_owned);
        let mut cluster = Self { directory, environment, up: up.into(), brokers: String::new() };
        if let Some(directory) = &cluster.directory {
            // What a run that was killed has left behind.
            cluster.services(&["down", "kafka"]);
            std::fs::remove_dir_all(directory).ok();
        } else {
            cluster.up.truncate(2);
        }
        cluster.start();
        let variables = cluster.services(&["env"]);
        let brokers = variables.lines().find_map(|line| line.strip_prefix("export READMARK_LOG__BROKERS="));
        cluster.brokers = brokers.expect("scripts/services env names the brokers").to_owned();
        cluster
    }

    /// Starts what does not run.
    pub fn start(&self) {
        let up: Vec<&str> = self.up.iter().map(String::as_str).collect();
        self.services(&up);
    }

    pub fn brokers(&self) -> &str {
        &self.brokers
    }

    /// `kill -9` of a broker; the first is 1.
    pub fn kill(&self, node: u32) {
        let pid = self.signal(node, "-9");
        let start = Instant::now();
        while self.services(&["status"]).contains(&format!("kafka-{node}")) {
            assert!(start.elapsed() < Duration::from_secs(30), "{pid} does not end");
        }
    }

    /// Sends a signal to a broker.
    pub fn signal(&self, node: u32, signal: &str) -> String {
        let directory = self.directory.as_ref().expect("only a cluster of one's own may be disturbed");
        let pid = std::fs::read_to_string(directory.join(format!("kafka-{node}.pid"))).expect("a pid file");
        let pid = pid.split_whitespace().next().expect("a pid").to_owned();
        let sent = Command::new("kill").args([signal, &pid]).status().expect("kill");
        assert!(sent.success(), "kill {signal} {pid}");
        pid
    }

    /// Options with a prefix that no other test has.
    pub fn options(&self) -> KafkaLogOptions {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        KafkaLogOptions::new(&self.brokers, format!("t{now}-{}-{count}", std::process::id()))
    }

    /// Runs a line of an operator's shell, in which Kafka's own tools are found; gives what it prints.
    pub fn shell(&self, line: &str) -> String {
        let tools = tempfile::tempdir().expect("a directory");
        for (script, class) in TOOLS {
            let text =
                format!("#!/bin/sh\nexec {:?} tool {class} \"$@\"\n", repository().join("scripts/services"));
            let path = tools.path().join(script);
            std::fs::write(&path, text).expect("a script");
            let done = Command::new("chmod").arg("+x").arg(&path).status().expect("chmod");
            assert!(done.success(), "chmod {}", path.display());
        }
        let path = format!("{}:{}", tools.path().display(), std::env::var("PATH").expect("a PATH"));
        let mut command = Command::new("bash");
        command.args(["-c", line]).env("PATH", path).envs(self.environment.iter().cloned());
        let done = command.output().expect("bash");
        assert!(done.status.success(), "{line}\n{}", text_of(&done));
        text_of(&done)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(repository().join("scripts/services"));
        command.args(arguments).envs(self.environment.iter().cloned());
        command
    }

    fn services(&self, arguments: &[&str]) -> String {
        let done = self.command(arguments).output().expect("scripts/services can be started");
        assert!(
            done.status.success(),
            "this test needs a Kafka and none could be started. Run `scripts/services up kafka`, which says:\n{}",
            text_of(&done)
        );
        String::from_utf8(done.stdout).expect("text")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.directory.is_some() {
            let down = self.command(&["down", "kafka"]).output();
            if !down.as_ref().is_ok_and(|done| done.status.success()) {
                println!("the cluster in {:?} is left running: {down:?}", self.directory);
            }
        }
    }
}

fn text_of(done: &Output) -> String {
    String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr)
}

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// All topics, on one broker.
pub async fn create_all(options: &KafkaLogOptions, partitions: u32) {
    create_replicated(options, partitions, 1).await;
}

/// All topics, on that many brokers, with the brokers' own settings.
pub async fn create_replicated(options: &KafkaLogOptions, partitions: u32, replication: u32) {
    let plans: Vec<TopicPlan> = Topic::ALL
        .into_iter()
        .map(|topic| TopicPlan { topic, partitions, replication, settings: BTreeMap::new() })
        .collect();
    let started = Instant::now();
    while let Err(error) = create_topics(options, &plans).await {
        // A broker that was just started, on a busy machine, answers, but may not be done in time.
        assert!(error.is_retryable() && started.elapsed() < DEADLINE, "the topics are made: {error}");
    }
    while let Err(error) = ask_about_all(options, partitions).await {
        // Made, and for a moment led by nobody that knows of it.
        assert!(error.is_retryable() && started.elapsed() < DEADLINE, "the topics answer: {error}");
    }
}

async fn ask_about_all(options: &KafkaLogOptions, partitions: u32) -> Result<(), LogError> {
    let log = KafkaLog::open(options.clone()).await?;
    for topic in Topic::ALL {
        for partition in 0..partitions {
            log.end_offset(TopicPartition { topic, partition }).await?;
        }
    }
    Ok(())
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
