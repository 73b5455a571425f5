//! The store on a CQL server: ScyllaDB, or Apache Cassandra 5.
//!
//! | table | partition; clustering | cells |
//! |---|---|---|
//! | `conversations` | conversation_id | head, imported_head, closed: registers · policy: set of switches · is_large: flag |
//! | `buckets` | conversation_id; bucket | newest_sent_at: register |
//! | `messages` | conversation_id, bucket; seq | message: written once · chunks: register. Expire |
//! | `read_arrays` | conversation_id, bucket; seq, chunk | read_array: set of uids. Expires |
//! | `uncounted` | conversation_id, block; seq | recalled, skipped, not_countable: flags |
//! | `uncounted_blocks` | conversation_id; block | which blocks of `uncounted` have rows, written before them |
//! | `mentions`, `mentions_of_all` | uid, conversation_id; seq · conversation_id; seq | the row is the fact |
//! | `members` | conversation_id; uid | presence, joined, claimed, imported: registers · switches: set |
//! | `user_conversations` | uid; conversation_id | presence, joined, read, cleared, own, claimed, receipted, imported, muted, marked_unread: registers |
//! | `user_settings` | uid | switches: set |
//! | `dead_letter_state` | topic_partition, block; topic_offset | resolution: register |
//!
//! * A *register* is one cell, written with its order key as write timestamp: a seq or time as it is; of a flag
//!   twice the order, and one more when it is true; of a presence twice the order, and one more when absent; of a
//!   resolution its time. The replicas keep the greatest, at a tie the bytewise larger value.
//! * A *set* is only added to, a *flag* only set.
//! * A *message* is read before it is written, and a known one stays. Two processes may still find nothing and
//!   write both: they write the same fact, or the IM gave one seq to two messages. So the write timestamp is the
//!   time the message expires: a repeat is the same cell, in a race every replica keeps the same one, and what
//!   has expired never hides a message that is written anew.

mod config;
mod connect;
mod conversation_store;
mod dead_letter_store;
mod error;
mod expiry;
mod flags;
mod member_store;
mod mentions;
mod message_store;
mod messages;
mod read_array_store;
mod request;
mod retry;
mod schema;
mod statements;
mod user_store;
mod value;

pub use config::{ClientCertificate, CqlConfig, Credentials, Dialect, TlsFiles, keyspace_fault};
pub use expiry::{LATEST_EXPIRY, expire_days_max};
pub use schema::{FoundKeyspace, Migrated, Schema};

use crate::error::StoreError;
use crate::memory::Now;
use crate::port::ReceiptStore;
use async_trait::async_trait;
use error::{At, Key};
use expiry::TTL_MAX_S;
use readmark_domain::time::TimeMs;
use scylla::client::session::Session;
use statements::Statements;
use tokio::sync::Semaphore;

/// A receipt store on a CQL server.
pub struct CqlStore {
    session: Session,
    keyspace: String,
    statements: Statements,
    in_flight: Semaphore,
    now: Now,
}

impl CqlStore {
    /// Connects to a keyspace that [`Schema::migrate`] has made.
    ///
    /// # Errors
    /// Refused when the configuration is wrong, the login fails, or the tables are missing or of another version;
    /// retryable when the server is away.
    pub async fn open(config: &CqlConfig, now: Now) -> Result<Self, StoreError> {
        let session = connect::connect(config).await?;
        schema::check(&session, &config.keyspace).await?;
        let statements = Statements::prepare(&session, &config.keyspace).await?;
        let in_flight = Semaphore::new(usize::from(config.requests_in_flight_max));
        Ok(Self { session, keyspace: config.keyspace.clone(), statements, in_flight, now })
    }

    /// Requests sent so far, batches counted once.
    #[must_use]
    pub fn requests_total(&self) -> u64 {
        let metrics = self.session.get_metrics();
        metrics.get_requests_unpaged_num() + metrics.get_requests_manually_paged_num()
    }

    /// Seconds from now to `expires_at`, rounded up; `None` when nothing is left, so nothing is to be written.
    fn ttl_s(&self, expires_at: TimeMs) -> Option<i32> {
        let left_ms = expires_at.since_ms((self.now)());
        let seconds = left_ms.div_ceil(1_000).min(TTL_MAX_S);
        i32::try_from(seconds).ok().filter(|seconds| *seconds > 0)
    }
}

impl std::fmt::Debug for CqlStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CqlStore").field("keyspace", &self.keyspace).finish_non_exhaustive()
    }
}

#[async_trait]
impl ReceiptStore for CqlStore {
    async fn probe(&self) -> Result<(), StoreError> {
        let at = At::new("probe", "schema_versions", Key::Keyspace(&self.keyspace));
        self.rows::<(i32,)>(at, &self.statements.probe, (schema::COMPONENT,), 1).await.map(drop)
    }
}
