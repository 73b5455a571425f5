//! The outside parts that tests need, Kafka, Cassandra and Redis, as `scripts/services` runs them: one set that all
//! test programs share, found and started by whoever comes first, and sets of a test's own, which it may kill.
//!
//! Everything here panics when it can't go on: a panic is how a test fails.
#![allow(clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

pub mod redis;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Where the shared set lies, unless `SERVICES_DIR` says otherwise; below the repository.
const SHARED_DIR: &str = "target/services/test";
/// First port of the shared set, unless `SERVICES_PORT` says otherwise.
const SHARED_PORT: u16 = 24_000;
/// Ports of a set, as `scripts/services` counts them.
const PORTS_OF_A_SET: u16 = 100;
/// A killed process is gone within this time.
const GONE_WITHIN: Duration = Duration::from_secs(30);

/// An outside part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The event log.
    Kafka,
    /// The store.
    Cassandra,
    /// The hot state.
    Redis,
}

impl Part {
    const fn name(self) -> &'static str {
        match self {
            Self::Kafka => "kafka",
            Self::Cassandra => "cassandra",
            Self::Redis => "redis",
        }
    }

    /// The variable by which `scripts/services env` says where it is.
    const fn variable(self) -> &'static str {
        match self {
            Self::Kafka => "READMARK_LOG__BROKERS",
            Self::Cassandra => "READMARK_STORE__CONTACT_POINTS",
            Self::Redis => "READMARK_HOT__URL",
        }
    }

    /// Its only process.
    const fn process(self) -> &'static str {
        match self {
            Self::Kafka => "kafka-1",
            Self::Cassandra => "cassandra",
            Self::Redis => "redis",
        }
    }
}

/// A set of parts.
#[derive(Debug)]
pub struct Services {
    dir: PathBuf,
    port: u16,
    is_own: bool,
    kafka: OnceLock<String>,
    cassandra: OnceLock<String>,
    redis: OnceLock<String>,
}

impl Services {
    /// The set that all tests share; whoever wants it alive asks for its [address](Self::address). It goes on when a
    /// test program ends: `make test` stops it, or `scripts/services down` with its directory.
    #[must_use]
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Services> = OnceLock::new();
        SHARED.get_or_init(|| {
            let dir = std::env::var_os("SERVICES_DIR").map_or_else(|| SHARED_DIR.into(), PathBuf::from);
            let port = std::env::var("SERVICES_PORT").ok();
            let port = port.map_or(SHARED_PORT, |port| port.parse().expect("SERVICES_PORT is a port"));
            Self::at(repository().join(dir), port, false)
        })
    }

    /// A set of a test's own, started on empty directories and thrown away with this value. `number` is its place
    /// after the shared set, from 1 on: no two tests that may run at once have the same.
    #[must_use]
    pub fn own(number: u16) -> Self {
        let shared = Self::shared();
        let own = Self::at(shared.beside(&number.to_string()), shared.port + PORTS_OF_A_SET * number, true);
        // What a test that was killed left behind.
        own.throw_away();
        own
    }

    const fn at(dir: PathBuf, port: u16, is_own: bool) -> Self {
        Self { dir, port, is_own, kafka: OnceLock::new(), cassandra: OnceLock::new(), redis: OnceLock::new() }
    }

    /// Where a part is, as the configuration takes it; started at the first question, if it does not run yet.
    ///
    /// Fails with what `scripts/services` says: what is missing on this machine, for one.
    #[must_use]
    pub fn address(&self, part: Part) -> &str {
        let known = match part {
            Part::Kafka => &self.kafka,
            Part::Cassandra => &self.cassandra,
            Part::Redis => &self.redis,
        };
        known.get_or_init(|| self.find(part))
    }

    /// A directory for another set of tests, where `make test` cleans up after those that could not.
    #[must_use]
    pub fn beside(&self, name: &str) -> PathBuf {
        let mut dir = self.dir.clone().into_os_string();
        dir.push(format!("-{name}"));
        dir.into()
    }

    /// Where data, logs and pids lie, as `scripts/services` puts them.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The variables by which `scripts/services` knows this set from others.
    #[must_use]
    pub fn variables(&self) -> [(&'static str, String); 2] {
        let dir = self.dir.display().to_string();
        [("SERVICES_DIR", dir), ("SERVICES_PORT", self.port.to_string())]
    }

    fn find(&self, part: Part) -> String {
        self.start(part);
        let variables = self.run(&["env"]);
        let line = format!("export {}=", part.variable());
        let address = variables.lines().find_map(|variable| variable.strip_prefix(&line));
        address.unwrap_or_else(|| panic!("scripts/services env names no {part:?}: {variables}")).to_owned()
    }

    /// Starts a part that does not run, and waits until it answers.
    pub fn start(&self, part: Part) {
        self.run(&["up", part.name()]);
    }

    /// The process of a part that runs; of Kafka its first broker's.
    #[must_use]
    pub fn pid(&self, part: Part) -> u32 {
        let file = self.dir.join(format!("{}.pid", part.process()));
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let pid = text.split_whitespace().next().and_then(|word| word.parse().ok());
        pid.unwrap_or_else(|| panic!("{} begins with no pid: {text:?}", file.display()))
    }

    /// `kill -9` of a part; returns when it is gone.
    pub fn kill(&self, part: Part) {
        assert!(self.is_own, "only a set of one's own may be killed");
        let pid = self.pid(part).to_string();
        let killed = Command::new("kill").args(["-9", &pid]).status().expect("kill can be run");
        assert!(killed.success(), "kill -9 {pid}");
        let started = Instant::now();
        while self.run(&["status"]).contains(part.process()) {
            assert!(started.elapsed() < GONE_WITHIN, "process {pid} does not end");
        }
    }

    fn throw_away(&self) {
        self.run(&["down"]);
        if let Err(error) = std::fs::remove_dir_all(&self.dir)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            panic!("{} can't be removed: {error}", self.dir.display());
        }
    }

    fn run(&self, arguments: &[&str]) -> String {
        let done = Command::new(repository().join("scripts/services"))
            .args(arguments)
            .envs(self.variables())
            .output()
            .expect("scripts/services can be run");
        assert!(
            done.status.success(),
            "this test needs outside parts; scripts/services {} says:\n{}",
            arguments.join(" "),
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8_lossy(&done.stdout).into_owned()
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        if self.is_own && !std::thread::panicking() {
            self.throw_away();
        } else if self.is_own {
            // What it has written may say why the test failed.
            self.run(&["down"]);
        }
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}
