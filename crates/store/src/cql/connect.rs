//! A session with the server.

use super::config::{CqlConfig, Dialect, TlsFiles};
use super::error::{At, Key, kind_of_session};
use super::retry::Retry;
use crate::error::{StoreError, StoreErrorKind};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use scylla::client::PoolSize;
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::frame::Compression;
use scylla::policies::load_balancing::DefaultPolicy;
use scylla::statement::{Consistency, SerialConsistency};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Connecting to one node may take this long.
const CONNECT_TIMEOUT_MS: u64 = 5_000;
/// All nodes know a new table after this long, or the setup fails and is started again.
const SCHEMA_AGREEMENT_TIMEOUT_MS: u64 = 30_000;
/// How often that is asked.
const SCHEMA_AGREEMENT_INTERVAL_MS: u64 = 50;

/// Opens a session. Reads and writes are LOCAL_QUORUM, so that what was written is read.
pub(super) async fn connect(config: &CqlConfig) -> Result<Session, StoreError> {
    let at = At::new("connect", "session", Key::Keyspace(&config.keyspace));
    if let Some(fault) = config.fault() {
        return Err(at.error(StoreErrorKind::Refused, fault));
    }
    let mut policy = DefaultPolicy::builder().token_aware(true);
    if let Some(datacenter) = &config.local_datacenter {
        policy = policy.prefer_datacenter(datacenter.clone());
    }
    let profile = ExecutionProfile::builder()
        .consistency(Consistency::LocalQuorum)
        .serial_consistency(Some(SerialConsistency::LocalSerial))
        .request_timeout(Some(Duration::from_millis(config.request_timeout_ms)))
        .retry_policy(Arc::new(Retry))
        .load_balancing_policy(policy.build())
        .build();
    let connections =
        NonZeroUsize::new(usize::from(config.connections_per_shard)).unwrap_or(NonZeroUsize::MIN);
    let mut builder = SessionBuilder::new()
        .known_nodes(&config.contact_points)
        .default_execution_profile_handle(profile.into_handle())
        .compression(Some(Compression::Lz4))
        .pool_size(PoolSize::PerShard(connections))
        .connection_timeout(Duration::from_millis(CONNECT_TIMEOUT_MS))
        .schema_agreement_timeout(Duration::from_millis(SCHEMA_AGREEMENT_TIMEOUT_MS))
        .schema_agreement_interval(Duration::from_millis(SCHEMA_AGREEMENT_INTERVAL_MS))
        // Other keyspaces of the cluster are none of our business, and there may be many.
        .keyspaces_to_fetch([&config.keyspace]);
    if let Some(credentials) = &config.credentials {
        builder = builder.user(&credentials.user, &credentials.password);
    }
    if let Some(files) = &config.tls {
        let tls = tls(files).map_err(|fault| at.error(StoreErrorKind::Refused, fault))?;
        builder = builder.tls_context(Some(Arc::new(tls)));
    }
    builder.build().await.map_err(|error| {
        let nodes = config.contact_points.join(", ");
        at.error(kind_of_session(&error), format!("{error} (contact points: {nodes})"))
    })
}

/// The kind of server: only ScyllaDB tells of shards.
pub(super) fn dialect(config: &CqlConfig, session: &Session) -> Dialect {
    config.dialect.unwrap_or_else(|| {
        let nodes = session.get_cluster_state();
        let is_sharded = nodes.get_nodes_info().iter().any(|node| node.sharder().is_some());
        if is_sharded { Dialect::ScyllaDb } else { Dialect::Cassandra }
    })
}

fn tls(files: &TlsFiles) -> Result<rustls::ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&files.ca)? {
        roots.add(certificate).map_err(|error| format!("{}: {error}", files.ca.display()))?;
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots);
    let Some(client) = &files.client else { return Ok(builder.with_no_client_auth()) };
    let key = PrivateKeyDer::from_pem_file(&client.key)
        .map_err(|error| format!("{}: no private key: {error}", client.key.display()))?;
    builder
        .with_client_auth_cert(certificates(&client.certificates)?, key)
        .map_err(|error| format!("{}: {error}", client.certificates.display()))
}

/// The certificates of a PEM file, one at least.
fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = || CertificateDer::pem_file_iter(file)?.collect::<Result<Vec<_>, _>>();
    match read() {
        Ok(found) if found.is_empty() => Err(format!("{}: no certificate", file.display())),
        Ok(found) => Ok(found),
        Err(error) => Err(format!("{}: {error}", file.display())),
    }
}
