//! The tables: made and changed step by step, by one process at a time.
//!
//! [`Schema::migrate`] may be repeated and interrupted: every step is harmless when it was done before, and the
//! version is written after its steps. Steps never take a column away and add it again: what Cassandra knows of
//! a dropped column hides every small timestamp of the new one.

mod lock;
mod look;
mod tables;

pub use look::FoundKeyspace;

use super::config::{CqlConfig, Dialect};
use super::connect::{connect, dialect};
use super::error::{At, Key, kind_of_agreement};
use crate::error::{StoreError, StoreErrorKind};
use readmark_domain::time::TimeMs;
use scylla::client::session::Session;
use scylla::statement::unprepared::Statement;
use std::time::Duration;

/// Longest keyspace name: 48 bytes less those that the lock's keyspace ends with.
pub(super) const MAX_KEYSPACE_BYTES: usize = 48 - lock::SUFFIX.len();
/// Creating a table may take this long on a busy cluster.
const STEP_TIMEOUT_MS: u64 = 60_000;

/// What `component` these tables are in `schema_versions`.
pub(super) const COMPONENT: &str = "store";

/// One version of the tables.
struct Migration {
    version: i32,
    /// What leads here from the version before. Each is harmless when it was done already.
    steps: fn(&str, Dialect) -> Vec<String>,
}

const MIGRATIONS: &[Migration] =
    &[Migration { version: 1, steps: tables::version_1 }, Migration { version: 2, steps: tables::version_2 }];

/// The version that this program reads and writes.
pub(super) const VERSION: i32 = MIGRATIONS[MIGRATIONS.len() - 1].version;

/// What [`Schema::migrate`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    /// The version found; `None` where there was nothing.
    pub from: Option<i32>,
    /// The version now.
    pub to: i32,
}

/// The tables of one keyspace.
pub struct Schema {
    session: Session,
    config: CqlConfig,
    dialect: Dialect,
}

impl Schema {
    /// Connects; changes nothing.
    ///
    /// # Errors
    /// As connecting does.
    pub async fn connect(config: CqlConfig) -> Result<Self, StoreError> {
        let session = connect(&config).await?;
        let dialect = dialect(&config, &session);
        Ok(Self { session, config, dialect })
    }

    /// The version of the keyspace; `None` where there are no tables yet.
    ///
    /// # Errors
    /// As reads do.
    pub async fn version(&self) -> Result<Option<i32>, StoreError> {
        version(&self.session, &self.config.keyspace).await
    }

    /// The statements that [`Schema::migrate`] would make, in their order; none when all is done.
    ///
    /// # Errors
    /// As reads do; refused when the keyspace is of a newer version.
    pub async fn pending(&self) -> Result<Vec<String>, StoreError> {
        let known = self.version().await?;
        self.refuse_newer(known)?;
        Ok(self.steps_after(known))
    }

    /// Brings the keyspace to the version of this program.
    ///
    /// # Errors
    /// As writes do; refused when the keyspace is of a newer version; retryable while another process migrates.
    pub async fn migrate(&self, now: TimeMs) -> Result<Migrated, StoreError> {
        let from = self.version().await?;
        self.refuse_newer(from)?;
        if from == Some(VERSION) {
            self.agree().await?;
            return Ok(Migrated { from, to: VERSION });
        }
        let lock = lock::Lock::take(self).await?;
        let done = self.migrate_locked(&lock, now).await;
        // What was done stands; a lock that can't be given back runs out by itself.
        let released = lock.release(self).await;
        let migrated = done?;
        released?;
        Ok(migrated)
    }

    async fn migrate_locked(&self, lock: &lock::Lock, now: TimeMs) -> Result<Migrated, StoreError> {
        // Another process may have done it while this one waited.
        let from = self.version().await?;
        self.refuse_newer(from)?;
        for step in self.steps_after(from) {
            lock.renew(self).await?;
            self.step(&step).await?;
        }
        // A step that was done before waits for nobody.
        self.agree().await?;
        lock.renew(self).await?;
        for migration in self.missing_after(from) {
            self.write_version(migration.version, now).await?;
        }
        Ok(Migrated { from, to: VERSION })
    }

    fn missing_after(&self, known: Option<i32>) -> impl Iterator<Item = &'static Migration> {
        MIGRATIONS.iter().filter(move |migration| known.is_none_or(|known| migration.version > known))
    }

    fn steps_after(&self, known: Option<i32>) -> Vec<String> {
        let keyspace = &self.config.keyspace;
        let mut steps = Vec::new();
        if known.is_none() {
            steps.push(tables::keyspace(keyspace, self.config.replication_factor));
            steps.push(tables::versions(keyspace));
        }
        for migration in self.missing_after(known) {
            steps.extend((migration.steps)(keyspace, self.dialect));
        }
        steps
    }

    fn refuse_newer(&self, known: Option<i32>) -> Result<(), StoreError> {
        match known {
            Some(known) if known > VERSION => Err(newer(&self.config.keyspace, known)),
            Some(_) | None => Ok(()),
        }
    }

    async fn step(&self, text: &str) -> Result<(), StoreError> {
        let at = self.at("change the schema");
        let mut statement = Statement::new(text);
        statement.set_request_timeout(Some(Duration::from_millis(STEP_TIMEOUT_MS)));
        let done = self.session.query_unpaged(statement, ()).await;
        done.map(drop).map_err(|error| {
            let failed = at.failed_at_start(&error);
            at.error(failed.kind, format!("{} in: {text}", failed.detail))
        })
    }

    async fn agree(&self) -> Result<(), StoreError> {
        let agreed = self.session.await_schema_agreement().await;
        agreed
            .map(drop)
            .map_err(|error| self.at("await schema agreement").error(kind_of_agreement(&error), error))
    }

    async fn write_version(&self, version: i32, now: TimeMs) -> Result<(), StoreError> {
        let text = format!(
            "INSERT INTO {}.schema_versions (component, version, applied_at) VALUES (?, ?, ?)",
            self.config.keyspace
        );
        let mut statement = Statement::new(text);
        statement.set_is_idempotent(true);
        let values = (COMPONENT, version, super::value::int(now.get()));
        let done = self.session.query_unpaged(statement, values).await;
        done.map(drop).map_err(|error| self.at("write the version").failed_at_start(&error))
    }

    fn at(&self, operation: &'static str) -> At<'_> {
        At::new(operation, "schema", Key::Keyspace(&self.config.keyspace))
    }
}

/// The version of a keyspace; `None` where there are no tables yet.
pub(super) async fn version(session: &Session, keyspace: &str) -> Result<Option<i32>, StoreError> {
    let at = At::new("read the version", "schema_versions", Key::Keyspace(keyspace));
    let text = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?";
    if first_cell::<String>(session, at, text.to_owned(), (keyspace, "schema_versions")).await?.is_none() {
        return Ok(None);
    }
    let text = format!("SELECT version FROM {keyspace}.schema_versions WHERE component = ? LIMIT 1");
    first_cell::<i32>(session, at, text, (COMPONENT,)).await
}

async fn first_cell<T>(
    session: &Session,
    at: At<'_>,
    text: String,
    values: impl scylla::serialize::row::SerializeRow,
) -> Result<Option<T>, StoreError>
where
    T: for<'r> scylla::deserialize::value::DeserializeValue<'r, 'r>,
{
    let mut statement = Statement::new(text);
    statement.set_is_idempotent(true);
    let answer = session.query_unpaged(statement, values).await;
    let answer = answer.map_err(|error| at.failed_at_start(&error))?;
    let rows = answer.into_rows_result().map_err(|error| at.corrupt(error))?;
    let row = rows.maybe_first_row::<(T,)>().map_err(|error| at.corrupt(error))?;
    Ok(row.map(|(cell,)| cell))
}

/// Fails unless the keyspace is of the version of this program.
pub(super) async fn check(session: &Session, keyspace: &str) -> Result<(), StoreError> {
    let at = At::new("open", "schema", Key::Keyspace(keyspace));
    match version(session, keyspace).await? {
        Some(VERSION) => Ok(()),
        Some(known) if known > VERSION => Err(newer(keyspace, known)),
        Some(known) => Err(at.error(
            StoreErrorKind::Refused,
            format!("the tables are of version {known}, this program needs {VERSION}: run `readmark setup`"),
        )),
        None => Err(at.error(StoreErrorKind::Refused, "there are no tables: run `readmark setup`")),
    }
}

fn newer(keyspace: &str, known: i32) -> StoreError {
    At::new("open", "schema", Key::Keyspace(keyspace)).error(
        StoreErrorKind::Refused,
        format!(
            "the tables are of version {known}, this program knows none after {VERSION}: use a newer readmark"
        ),
    )
}
