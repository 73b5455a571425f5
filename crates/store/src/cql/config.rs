//! What the adapter needs to know.

use super::schema::MAX_KEYSPACE_BYTES;
use std::path::PathBuf;

/// Which server it is, for the options that only one of them takes. See `docs/scylladb.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Apache Cassandra 5.
    Cassandra,
    /// ScyllaDB 2025.1 and later.
    ScyllaDb,
}

/// Name and password.
#[derive(Clone)]
pub struct Credentials {
    /// The role that logs in.
    pub user: String,
    /// Its password.
    pub password: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

/// PEM files of TLS. The server's certificate is checked against its IP address, which must be among the
/// certificate's alternative names.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The authorities that are trusted.
    pub ca: PathBuf,
    /// The client's certificate chain and key, where the server asks for one.
    pub client: Option<ClientCertificate>,
}

/// PEM files of a client.
#[derive(Debug, Clone)]
pub struct ClientCertificate {
    /// The chain.
    pub certificates: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// What is wrong with the name of a keyspace, in words that go behind it.
#[must_use]
pub fn keyspace_fault(name: &str) -> Option<String> {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    let is_sound = name.bytes().all(is_plain)
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= MAX_KEYSPACE_BYTES;
    (!is_sound).then(|| {
        format!(
            "must be a lower case letter and then such letters, digits and _, at most {MAX_KEYSPACE_BYTES} bytes"
        )
    })
}

/// Where the store is and how to use it.
#[derive(Debug, Clone)]
pub struct CqlConfig {
    /// `host:port` of some nodes; the driver finds the others.
    pub contact_points: Vec<String>,
    /// The keyspace: lower case letters, digits and `_`, at most 42 bytes.
    pub keyspace: String,
    /// Copies of each row in each data centre, when the keyspace is created.
    pub replication_factor: u16,
    /// The data centre whose nodes are asked; `None` where there is one.
    pub local_datacenter: Option<String>,
    /// Who logs in; `None` where the server asks nobody.
    pub credentials: Option<Credentials>,
    /// TLS; `None` for plain connections.
    pub tls: Option<TlsFiles>,
    /// The kind of server; `None`: asked of the server.
    pub dialect: Option<Dialect>,
    /// How long one request may take in all, retries included, in milliseconds.
    pub request_timeout_ms: u64,
    /// Connections to each shard of each node. Cassandra counts as one shard, and one connection of it is
    /// read by one thread at either end.
    pub connections_per_shard: u16,
    /// Requests on their way at once from this process; more of them wait here and not in the server's queue.
    pub requests_in_flight_max: u16,
}

impl Default for CqlConfig {
    fn default() -> Self {
        Self {
            contact_points: vec!["127.0.0.1:9042".to_owned()],
            keyspace: "readmark".to_owned(),
            replication_factor: 3,
            local_datacenter: None,
            credentials: None,
            tls: None,
            dialect: None,
            // Twice the servers' own limit of 2 s for a write, so that theirs comes first and says more.
            request_timeout_ms: 5_000,
            connections_per_shard: 2,
            requests_in_flight_max: 256,
        }
    }
}

impl CqlConfig {
    /// What is wrong with it, in words.
    pub(super) fn fault(&self) -> Option<String> {
        if let Some(words) = keyspace_fault(&self.keyspace) {
            return Some(format!("keyspace {:?} {words}", self.keyspace));
        }
        if self.contact_points.is_empty() {
            return Some("no contact point".to_owned());
        }
        if self.replication_factor == 0 || self.connections_per_shard == 0 || self.requests_in_flight_max == 0
        {
            return Some(
                "replication_factor, connections_per_shard and requests_in_flight_max must be 1 at least"
                    .to_owned(),
            );
        }
        None
    }
}
