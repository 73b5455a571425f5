//! Topics, a keyspace and a prefix of one server's own, on Kafka, Cassandra and Redis.

use crate::options::ServiceSet;
use crate::process::{Program, ReservedPort};
use crate::server::Server;
use crate::topic_record::TopicRecord;
use crate::wait_until;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions};
use rdkafka::client::DefaultClientContext;
use readmark_events::Topic;
use readmark_log::kafka::{KafkaLog, KafkaLogOptions, delete_topics};
use readmark_log::{EventLog, Group, LogError, NewRecord, Offset, TopicPartition};
use readmark_test_services::{Part, Services};
use scylla::client::session_builder::SessionBuilder;
use scylla::statement::Statement;
use std::ffi::OsString;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{OnceCell, Semaphore};
use tokio::task::block_in_place;

/// Partitions of each topic: few, and more than any test has members.
const PARTITIONS: u32 = 4;
/// Bytes of a secret of tokens.
const SECRET_BYTES: usize = 32;
/// Records read at once.
const PAGE: usize = 1_000;
/// How long the brokers may be away from a test that looks into topics: they may have been killed just before.
const ANSWERS_WITHIN: Duration = Duration::from_secs(180);
/// How long taking away a keyspace may take behind the changes that others have asked for: what is left behind makes all
/// later changes slower.
const DROPPED_WITHIN: Duration = Duration::from_secs(180);
/// Servers of one test program whose tables are made at once. Cassandra makes one change of a schema after the
/// other: when many ask, the last ones would wait for longer than a request may take.
const SCHEMAS_AT_ONCE: usize = 2;
static SCHEMA_CHANGES: Semaphore = Semaphore::const_new(SCHEMAS_AT_ONCE);
/// The consuming roles, which are groups.
pub const CONSUMING_ROLES: [&str; 3] = ["catalog", "aggregator", "watermark"];

/// What a server on full parts has for itself.
pub struct Installation {
    services: ServiceSet,
    /// Prefix of its topics and groups, and its keyspace.
    name: String,
    data_dir: PathBuf,
    log: OnceCell<KafkaLog>,
    set_up: OnceCell<()>,
}

impl Installation {
    /// One that no other test has; nothing is made before [`Self::set_up`].
    pub fn new(services: ServiceSet, data_dir: &Path) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("t{}_{}_{count}", crate::now_ms(), std::process::id());
        let data_dir = data_dir.to_owned();
        Self { services, name, data_dir, log: OnceCell::new(), set_up: OnceCell::new() }
    }

    /// The configuration, as variables.
    pub fn env(&self) -> Vec<(String, String)> {
        let secret = self.data_dir.join("secret").display().to_string();
        let pairs = [
            ("READMARK_DATA_DIR", self.data_dir.display().to_string()),
            ("READMARK_LOG__KIND", "kafka".to_owned()),
            ("READMARK_LOG__BROKERS", self.services.address(Part::Kafka).to_owned()),
            ("READMARK_LOG__TOPIC_PREFIX", self.name.clone()),
            ("READMARK_LOG__PARTITIONS", PARTITIONS.to_string()),
            ("READMARK_STORE__KIND", "cql".to_owned()),
            ("READMARK_STORE__CONTACT_POINTS", self.services.address(Part::Cassandra).to_owned()),
            ("READMARK_STORE__KEYSPACE", self.name.clone()),
            ("READMARK_STORE__REPLICATION", "1".to_owned()),
            ("READMARK_HOT__KIND", "redis".to_owned()),
            ("READMARK_HOT__URL", self.services.address(Part::Redis).to_owned()),
            ("READMARK_AUTH__SECRET_FILE", secret),
        ];
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// What a process of these roles is told.
    pub fn serve(roles: &str, port: &ReservedPort) -> Vec<OsString> {
        let listen = port.address.to_string();
        ["serve", "--roles", roles, "--listen", &listen].map(OsString::from).to_vec()
    }

    /// Makes the secret, the topics and the tables, once.
    pub async fn set_up(&self, more_env: &[(String, String)]) {
        let make = || async {
            let _turn = SCHEMA_CHANGES.acquire().await.expect("it is never closed");
            std::fs::create_dir_all(&self.data_dir).expect("the directory can be made");
            let secret: String = (0..SECRET_BYTES).map(|_| format!("{:02x}", rand::random::<u8>())).collect();
            std::fs::write(self.data_dir.join("secret"), secret).expect("the secret can be written");
            let setup = Program { launcher: Vec::new(), arguments: vec!["setup".into()], env: self.env() };
            let mut command = setup.command();
            command.envs(more_env.iter().map(|(name, value)| (name, value)));
            let done = tokio::task::spawn_blocking(move || command.output()).await.expect("no panic");
            let done = done.expect("readmark can be started");
            assert!(
                done.status.success(),
                "readmark setup ends with {}: {}{}",
                done.status,
                String::from_utf8_lossy(&done.stdout),
                String::from_utf8_lossy(&done.stderr)
            );
        };
        self.set_up.get_or_init(make).await;
    }

    /// Its event log, read and written beside its processes.
    pub async fn log(&self) -> &KafkaLog {
        self.log.get_or_init(|| answered("the log to be opened", || KafkaLog::open(self.options()))).await
    }

    fn options(&self) -> KafkaLogOptions {
        KafkaLogOptions::new(self.services.address(Part::Kafka), &self.name)
    }

    /// Partitions of each topic.
    pub const fn partitions(&self) -> u32 {
        PARTITIONS
    }

    /// The offset of the oldest record of a partition and that of the next.
    pub async fn ends(&self, at: TopicPartition) -> (Offset, Offset) {
        let log = self.log().await;
        let start = answered("the start of a partition", || log.start_offset(at)).await;
        (start, answered("the end of a partition", || log.end_offset(at)).await)
    }

    /// The records of a partition from an offset on.
    pub async fn records(&self, at: TopicPartition, from: Offset) -> Vec<TopicRecord> {
        let log = self.log().await;
        let (mut records, mut next) = (Vec::new(), from);
        loop {
            let page = answered("records", || log.read(at, next, PAGE)).await;
            let Some(last) = page.last() else { return records };
            next = last.position.offset + 1;
            records.extend(page.into_iter().map(TopicRecord::of));
        }
    }

    /// Appends a record as it is.
    pub async fn append(&self, record: NewRecord) {
        let log = self.log().await;
        answered("a record to be taken", || log.append(vec![record.clone()])).await;
    }

    /// What a role has stored of a partition.
    pub async fn committed(&self, role: &str, at: TopicPartition) -> Option<Offset> {
        let log = self.log().await;
        let group = self.group(role);
        answered("the position of a role", || log.committed(&group, at)).await
    }

    fn group(&self, role: &str) -> Group {
        Group(format!("{}.{role}", self.name))
    }

    /// Takes the positions of every role away. Members that have ended count until their session is over.
    pub async fn forget_positions(&self) {
        let admin: AdminClient<DefaultClientContext> = ClientConfig::new()
            .set("bootstrap.servers", self.services.address(Part::Kafka))
            .create()
            .expect("a client of the brokers");
        for role in CONSUMING_ROLES.into_iter().chain(["notifier"]) {
            let group = self.group(role).0;
            wait_until(ANSWERS_WITHIN, &format!("group {group} to be forgotten"), || async {
                let forgotten = admin.delete_groups(&[&group], &AdminOptions::new()).await;
                let forgotten = forgotten.map_err(|e| e.to_string())?;
                let refused = forgotten.into_iter().find_map(Result::err);
                refused.map_or(Ok(()), |(name, code)| Err(format!("{name}: {code}")))
            })
            .await;
        }
    }

    /// Takes away what was made.
    pub fn remove(self) {
        if self.set_up.initialized() && !self.services.is_thrown_away() {
            // A runtime can't be entered from within another one.
            let removal = std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.expect("a runtime").block_on(self.take_away());
            });
            // A program's tests share few threads: proxies and callers of others must not stand still meanwhile.
            let shares_threads = Handle::try_current()
                .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
            let removed = if shares_threads { block_in_place(|| removal.join()) } else { removal.join() };
            if removed.is_err() {
                eprintln!("topics or tables are left behind");
            }
        }
    }

    async fn take_away(self) {
        let cassandra = self.services.address(Part::Cassandra);
        let session = SessionBuilder::new().known_node(cassandra).fetch_schema_metadata(false);
        let session = session.build().await.expect("Cassandra answers");
        // What `readmark setup` makes: the tables, and the lock that keeps two of it apart.
        for keyspace in [self.name.clone(), format!("{}_setup", self.name)] {
            let mut drop = Statement::new(format!("DROP KEYSPACE IF EXISTS {keyspace}"));
            drop.set_request_timeout(Some(DROPPED_WITHIN));
            session.query_unpaged(drop, ()).await.expect("a keyspace can be dropped");
        }
        delete_topics(&self.options(), &Topic::ALL).await.expect("topics can be removed");
    }
}

/// What a measurement looks at beside the server's own faces, on full parts only.
impl Server {
    /// Begins the names of its topics, its groups and its keys in Redis, and is its keyspace.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.full().name
    }

    /// Its event log, read and written beside its processes.
    pub async fn log(&self) -> &KafkaLog {
        self.full().log().await
    }

    /// The parts it runs on.
    #[must_use]
    pub fn services(&self) -> &Services {
        &self.full().services
    }

    fn full(&self) -> &Installation {
        self.installation().expect("only full parts have names of their own")
    }
}

/// Asks until the brokers answer.
async fn answered<T, F, Fut>(what: &str, ask: F) -> T
where
    F: Fn() -> Fut,
    Fut: Future<Output = Result<T, LogError>>,
{
    wait_until(ANSWERS_WITHIN, what, || async {
        match ask().await {
            Ok(answer) => Ok(answer),
            Err(error) if error.is_retryable() => Err(error.to_string()),
            Err(error) => panic!("{what}: {error}"),
        }
    })
    .await
}
