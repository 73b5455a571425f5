//! Section `store`.

use super::addresses::Addresses;
use super::secret::{Secret, given_twice};
use super::together::{Clash, half_a_pair};
use crate::exit::Failure;
use readmark_store::cql::{ClientCertificate, CqlConfig, Credentials, Dialect, TlsFiles};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct StoreSection {
    /// Where it is.
    pub kind: StoreKind,
    /// Memory for pages of the embedded store's file, in MiB.
    pub cache_mib: u32,
    /// Some nodes of the cluster, host:port each; the others are found.
    pub contact_points: Addresses,
    /// The keyspace, which `readmark setup` makes: a small letter, then small letters, digits and underscores, 42 bytes
    /// at most.
    pub keyspace: String,
    /// Copies of each row in each data centre, for the keyspace that `readmark setup` makes.
    pub replication: u16,
    /// The data centre whose nodes are asked; needed where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_datacenter: Option<String>,
    /// The kind of server; asked of it where it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<StoreDialect>,
    /// How long a request may take in all, in milliseconds.
    pub request_timeout_ms: u64,
    /// Connections to each shard of a node; Cassandra counts as one shard.
    pub connections_per_shard: u16,
    /// Requests on their way at once from this process; the others wait.
    pub requests_in_flight_max: u16,
    /// Who logs in, together with a password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Its password; rather in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<Secret>,
    /// The file that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,
    /// PEM file of the authorities that sign the nodes' certificates; turns TLS on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_ca_file: Option<PathBuf>,
    /// PEM file of the client's certificate, together with its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_certificate_file: Option<PathBuf>,
    /// PEM file of that key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_key_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StoreKind {
    /// In a file of the data directory, for one process with all roles.
    Embedded,
    /// On a cluster of ScyllaDB or Apache Cassandra.
    Cql,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StoreDialect {
    Cassandra,
    Scylladb,
}

impl Default for StoreSection {
    fn default() -> Self {
        let cql = CqlConfig::default();
        Self {
            kind: StoreKind::Embedded,
            cache_mib: 64,
            contact_points: Addresses::one("127.0.0.1:9042"),
            keyspace: cql.keyspace,
            replication: cql.replication_factor,
            local_datacenter: None,
            dialect: None,
            request_timeout_ms: cql.request_timeout_ms,
            connections_per_shard: cql.connections_per_shard,
            requests_in_flight_max: cql.requests_in_flight_max,
            user: None,
            password: None,
            password_file: None,
            tls_ca_file: None,
            tls_certificate_file: None,
            tls_key_file: None,
        }
    }
}

impl StoreSection {
    /// What keys say against each other.
    pub(super) fn clashes(&self) -> Vec<Clash> {
        let mut clashes = Vec::new();
        clashes.extend(given_twice("store.password", self.password.as_ref(), self.password_file.as_deref()));
        let has_password = self.password.is_some() || self.password_file.is_some();
        if self.user.is_some() != has_password {
            clashes.push(Clash::of(
                &["store.user", "store.password_file", "store.password"],
                "store.user: goes together with store.password_file",
            ));
        }
        clashes.extend(half_a_pair(
            ("store.tls_certificate_file", self.tls_certificate_file.is_some()),
            ("store.tls_key_file", self.tls_key_file.is_some()),
        ));
        if self.tls_certificate_file.is_some() && self.tls_ca_file.is_none() {
            clashes.push(Clash::of(
                &["store.tls_certificate_file", "store.tls_ca_file"],
                "store.tls_certificate_file: needs store.tls_ca_file",
            ));
        }
        clashes
    }

    /// How to reach the CQL server.
    pub fn cql(&self) -> Result<CqlConfig, Failure> {
        let password =
            Secret::of("store.password_file", self.password.as_ref(), self.password_file.as_deref())?;
        let credentials = self.user.clone().zip(password);
        let client = self.tls_certificate_file.clone().zip(self.tls_key_file.clone());
        let client = client.map(|(certificates, key)| ClientCertificate { certificates, key });
        Ok(CqlConfig {
            contact_points: self.contact_points.list(),
            keyspace: self.keyspace.clone(),
            replication_factor: self.replication,
            local_datacenter: self.local_datacenter.clone(),
            credentials: credentials.map(|(user, password)| Credentials { user, password }),
            tls: self.tls_ca_file.clone().map(|ca| TlsFiles { ca, client }),
            dialect: self.dialect.map(|dialect| match dialect {
                StoreDialect::Cassandra => Dialect::Cassandra,
                StoreDialect::Scylladb => Dialect::ScyllaDb,
            }),
            request_timeout_ms: self.request_timeout_ms,
            connections_per_shard: self.connections_per_shard,
            requests_in_flight_max: self.requests_in_flight_max,
        })
    }
}
