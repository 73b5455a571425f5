//! How a server is started.

use readmark_test_services::Services;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a server keeps its data.
#[derive(Clone)]
pub struct DataDir {
    path: PathBuf,
    _owned: Option<Arc<tempfile::TempDir>>,
}

impl Default for DataDir {
    fn default() -> Self {
        let dir = tempfile::Builder::new().prefix("readmark-test-").tempdir().expect("a temporary directory");
        Self { path: dir.path().join("data"), _owned: Some(Arc::new(dir)) }
    }
}

impl DataDir {
    /// A directory that the test takes care of itself.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self { path, _owned: None }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A Kafka, a Cassandra and a Redis.
#[derive(Clone)]
pub enum ServiceSet {
    /// Those that all tests use together.
    Shared,
    /// Some of a test's own, which it may kill.
    Own(Arc<Services>),
}

impl ServiceSet {
    /// Does nobody need to clean up?
    pub(crate) const fn is_thrown_away(&self) -> bool {
        matches!(self, Self::Own(_))
    }
}

impl Deref for ServiceSet {
    type Target = Services;

    fn deref(&self) -> &Services {
        match self {
            Self::Shared => Services::shared(),
            Self::Own(services) => services,
        }
    }
}

/// What a server runs on.
#[derive(Clone, Default)]
pub enum Parts {
    /// Embedded parts, in the data directory: `readmark up`.
    #[default]
    Embedded,
    /// Kafka, Cassandra and Redis, under names of its own: `readmark serve`.
    Full(ServiceSet),
}

/// How to start.
#[derive(Clone, Default)]
pub struct Options {
    /// What it runs on.
    pub parts: Parts,
    /// The roles of each of its processes, on full parts; with none, one process has all roles.
    pub processes: Vec<&'static str>,
    /// Where the data is; on full parts, where the secret is.
    pub data_dir: DataDir,
    /// Variables of the environment, in addition.
    pub env: Vec<(String, String)>,
    /// A command that runs the program, such as one that sets a limit first.
    pub launcher: Vec<String>,
    /// The data directory as the program names it, where a launcher puts it elsewhere than the test sees it.
    pub inner_data_dir: Option<PathBuf>,
}

impl Options {
    /// On the full parts that all tests use together.
    #[must_use]
    pub fn full() -> Self {
        Self { parts: Parts::Full(ServiceSet::Shared), ..Self::default() }
    }

    /// On full parts of a test's own, which it may kill.
    #[must_use]
    pub fn full_on(services: &Arc<Services>) -> Self {
        Self { parts: Parts::Full(ServiceSet::Own(Arc::clone(services))), ..Self::default() }
    }

    /// In several processes, each with these roles.
    #[must_use]
    pub fn processes(mut self, roles: &[&'static str]) -> Self {
        self.processes = roles.to_vec();
        self
    }

    /// With a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }
}
