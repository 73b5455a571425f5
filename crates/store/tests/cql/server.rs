//! The server that the tests run on, and this run's keyspace.

use async_trait::async_trait;
use readmark_domain::time::TimeMs;
use readmark_store::conformance::SuiteClock;
use readmark_store::cql::{CqlConfig, CqlStore, Schema};
use readmark_test_services::{Part, Services};
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::OnceCell;

const VARIABLE: &str = "READMARK_STORE__CONTACT_POINTS";
/// Keyspaces of runs that began longer ago are dropped.
const KEPT_S: u64 = 3_600;
const PREFIX: &str = "readmark_test_";

static TAG: AtomicU32 = AtomicU32::new(0);
static MADE: OnceCell<()> = OnceCell::const_new();
static KEYSPACE: LazyLock<String> = LazyLock::new(|| unique("run"));

/// A number that no other subject of this run has.
pub fn next_tag() -> u32 {
    TAG.fetch_add(1, Ordering::Relaxed)
}

/// The clock of the machine, which is the server's too.
pub struct SystemClock;

#[async_trait]
impl SuiteClock for SystemClock {
    fn now(&self) -> TimeMs {
        now()
    }

    async fn advance_ms(&self, ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }

    fn is_manual(&self) -> bool {
        false
    }
}

pub fn now() -> TimeMs {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    TimeMs::saturating(u64::try_from(since.as_millis()).unwrap())
}

/// Of the server that the variable names, else of the tests' own.
pub fn contact_points() -> Vec<String> {
    let given = std::env::var(VARIABLE);
    let points = given.unwrap_or_else(|_| Services::shared().address(Part::Cassandra).to_owned());
    points.split(',').map(str::to_owned).collect()
}

/// A keyspace name of this run; its age can be told from it.
pub fn unique(what: &str) -> String {
    format!("{PREFIX}{}_{}_{what}", now().get() / 1_000, std::process::id() % 100_000)
}

pub fn config(keyspace: &str) -> CqlConfig {
    CqlConfig {
        contact_points: contact_points(),
        keyspace: keyspace.to_owned(),
        replication_factor: 1,
        ..CqlConfig::default()
    }
}

/// This run's keyspace, with its tables.
pub async fn keyspace() -> &'static str {
    MADE.get_or_init(|| async {
        drop_old_keyspaces().await;
        Schema::connect(config(&KEYSPACE)).await.unwrap().migrate(now()).await.unwrap();
    })
    .await;
    &KEYSPACE
}

/// The store in this run's keyspace.
pub async fn open() -> CqlStore {
    open_with(&config(keyspace().await)).await
}

pub async fn open_with(config: &CqlConfig) -> CqlStore {
    CqlStore::open(config, Arc::new(now)).await.unwrap()
}

/// A session of our own, to look behind the adapter.
pub async fn session() -> Session {
    SessionBuilder::new().known_nodes(contact_points()).fetch_schema_metadata(false).build().await.unwrap()
}

async fn drop_old_keyspaces() {
    let session = session().await;
    let rows = session.query_unpaged("SELECT keyspace_name FROM system_schema.keyspaces", ()).await.unwrap();
    let rows = rows.into_rows_result().unwrap();
    for row in rows.rows::<(String,)>().unwrap() {
        let (name,) = row.unwrap();
        let began_s = name
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split('_').next())
            .and_then(|s| s.parse::<u64>().ok());
        if began_s.is_some_and(|began_s| began_s + KEPT_S < now().get() / 1_000) {
            session.query_unpaged(format!("DROP KEYSPACE IF EXISTS {name}"), ()).await.unwrap();
        }
    }
}
