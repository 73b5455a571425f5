//! What the tests of commands share: a place of its own on the Kafka, the Cassandra and the Redis that all tests use,
//! and the real `readmark` run on it.
//!
//! Everything here panics when it can't go on: a panic is how a test fails.
#![allow(clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

use readmark_events::Topic;
use readmark_log::kafka::{KafkaLogOptions, delete_topics};
use readmark_test_harness::{Part, Services, binary, command, now_ms};
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use serde_json::Value;
use std::path::Path;
use std::process::Output;
use std::sync::atomic::{AtomicU32, Ordering};

/// Nobody listens there: connections are refused at once.
pub const NOBODY: &str = "127.0.0.1:1";
/// Partitions of each topic, as configured.
pub const PARTITIONS: u32 = 2;
/// How long a command may take, in seconds; one that serves instead of ending is ended with code 124.
const WITHIN_S: u32 = 90;

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code.
    pub code: i32,
    /// What it printed to stdout.
    pub stdout: String,
    /// What it printed to stderr.
    pub stderr: String,
}

impl Ended {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// Stdout as one JSON document.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Checks the exit code, and that stderr is one line with all of these words.
    ///
    /// # Panics
    /// When they are not so.
    pub fn expect_one_line(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is not in: {}", self.stderr);
        }
    }
}

/// Runs readmark with nothing of the tests' own environment, in a folder of its own.
///
/// # Panics
/// When it can't be started.
#[must_use]
pub fn readmark(arguments: &[&str], env: &[(String, String)], folder: &Path) -> Ended {
    let output = command("timeout")
        .arg(WITHIN_S.to_string())
        .arg(binary())
        .args(arguments)
        .envs(env.iter().map(|(name, value)| (name, value)))
        .current_dir(folder)
        .output();
    Ended::of(&output.expect("readmark can be started"))
}

/// A topic prefix and a keyspace of a test's own.
pub struct Place {
    name: String,
    folder: tempfile::TempDir,
}

impl Place {
    /// One that no other test has. Nothing is made before a `readmark setup`.
    ///
    /// # Panics
    /// When there is no room for a folder.
    #[must_use]
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("c{}_{}_{count}", now_ms(), std::process::id());
        Self { name, folder: tempfile::tempdir().expect("a temporary directory") }
    }

    /// Prefix of its topics and groups, and its keyspace.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where commands are run.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Its configuration on Kafka and Cassandra, as variables.
    #[must_use]
    pub fn env(&self) -> Vec<(String, String)> {
        let services = Services::shared();
        let secret = self.folder().join("secret");
        std::fs::write(&secret, "0123456789abcdef0123456789abcdef").expect("a secret");
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&secret, private).expect("its mode");
        let pairs = [
            ("READMARK_LISTEN", "127.0.0.1:0".to_owned()),
            ("READMARK_LOG__KIND", "kafka".to_owned()),
            ("READMARK_LOG__BROKERS", services.address(Part::Kafka).to_owned()),
            ("READMARK_LOG__TOPIC_PREFIX", self.name.clone()),
            ("READMARK_LOG__PARTITIONS", PARTITIONS.to_string()),
            ("READMARK_STORE__KIND", "cql".to_owned()),
            ("READMARK_STORE__CONTACT_POINTS", services.address(Part::Cassandra).to_owned()),
            ("READMARK_STORE__KEYSPACE", self.name.clone()),
            ("READMARK_STORE__REPLICATION", "1".to_owned()),
            ("READMARK_AUTH__SECRET_FILE", secret.display().to_string()),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value)).to_vec()
    }

    /// Runs readmark on it, with further variables.
    #[must_use]
    pub fn run(&self, arguments: &[&str], more: &[(&str, &str)]) -> Ended {
        let mut env = self.env();
        env.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        readmark(arguments, &env, self.folder())
    }

    /// Makes its topics and tables.
    ///
    /// # Panics
    /// When that fails.
    pub fn set_up(&self) {
        let done = self.run(&["setup"], &[]);
        assert_eq!(done.code, 0, "{done:?}");
    }

    /// A session with Cassandra.
    ///
    /// # Panics
    /// When it does not answer.
    pub async fn session(&self) -> Session {
        let node = Services::shared().address(Part::Cassandra);
        let session = SessionBuilder::new().known_node(node).fetch_schema_metadata(false).build().await;
        session.expect("Cassandra answers")
    }

    /// Takes away what was made.
    ///
    /// # Panics
    /// When that fails.
    pub async fn remove(self) {
        let session = self.session().await;
        for keyspace in [self.name.clone(), format!("{}_setup", self.name)] {
            let dropped = session.query_unpaged(format!("DROP KEYSPACE IF EXISTS {keyspace}"), ()).await;
            dropped.expect("a keyspace can be dropped");
        }
        let options = KafkaLogOptions::new(Services::shared().address(Part::Kafka), &self.name);
        delete_topics(&options, &Topic::ALL).await.expect("topics can be removed");
    }
}

impl Default for Place {
    fn default() -> Self {
        Self::new()
    }
}
