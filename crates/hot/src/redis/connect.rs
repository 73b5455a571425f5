//! Connections: to one server, or to a cluster.

use super::error::hot_error;
use super::options::{RedisOptions, RedisTls};
use crate::error::{HotError, HotErrorKind};
use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::cluster::ClusterClientBuilder;
use redis::cluster_async::ClusterConnection;
use redis::io::tcp::{TcpSettings, socket2::TcpKeepalive};
use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo,
    ProtocolVersion, RedisResult, TlsCertificates,
};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Connecting may take this long.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_millis(1_000);
/// An answer may take this long: scripts take microseconds, so a server that says nothing is away.
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_millis(1_000);
/// At the start, connecting and the first answer may take this long each.
const FIRST_ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// A connection whose other end has vanished without a word is given up after this: within one more call.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(3);
const TCP_KEEPALIVE: Duration = Duration::from_secs(5);
/// Pauses between attempts to connect again; calls that come meanwhile wait, within their own deadline.
const RECONNECT_PAUSE_MIN: Duration = Duration::from_millis(20);
const RECONNECT_PAUSE_MAX: Duration = Duration::from_millis(500);
const RECONNECT_ATTEMPTS: usize = 2;
/// Attempts of the cluster's client to follow a slot that moves.
const REDIRECTS_MAX: u32 = 3;
/// Requests that one connection may have waiting to be written: a fan-out's worth.
const WRITE_QUEUE: usize = 1_024;

/// How to reach the server.
#[derive(Clone)]
pub(super) struct Target {
    infos: Vec<ConnectionInfo>,
    certificates: Option<TlsCertificates>,
    shown: String,
}

impl Target {
    pub fn new(options: &RedisOptions) -> Result<Self, HotError> {
        // Who has chosen another provider for the process keeps it.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let shown = options.shown_urls();
        let refused = |detail: String| HotError::new("connect", &shown, HotErrorKind::Refused, detail);
        if options.urls.is_empty() {
            return Err(refused("no address".to_owned()));
        }
        if options.key_prefix.is_empty() || options.key_prefix.contains(['{', '}']) {
            return Err(refused(format!(
                "the key prefix {:?} must not be empty, nor have braces",
                options.key_prefix
            )));
        }
        let certificates = certificates(&options.tls).map_err(refused)?;
        let infos = options.urls.iter().map(|url| info(url, options)).collect::<Result<_, _>>();
        let infos = infos.map_err(|error| hot_error("connect", &shown, &error))?;
        Ok(Self { infos, certificates, shown })
    }

    /// A client for the first address.
    pub fn client(&self, protocol: ProtocolVersion) -> Result<Client, HotError> {
        let info = self.infos[0].clone();
        let redis = info.redis_settings().clone().set_protocol(protocol);
        let info = info.set_redis_settings(redis);
        let is_tls = matches!(info.addr(), ConnectionAddr::TcpTls { .. });
        let client = match &self.certificates {
            Some(certificates) if is_tls => Client::build_with_tls(info, certificates.clone()),
            Some(_) | None => Client::open(info),
        };
        client.map_err(|error| self.error(&error))
    }

    /// A builder of clients for the cluster.
    pub fn cluster(&self, protocol: ProtocolVersion) -> ClusterClientBuilder {
        let builder = ClusterClientBuilder::new(self.infos.iter().cloned())
            .use_protocol(protocol)
            .retries(REDIRECTS_MAX)
            .min_retry_wait(RECONNECT_PAUSE_MIN.as_millis() as u64)
            .max_retry_wait(RECONNECT_PAUSE_MAX.as_millis() as u64)
            .connection_timeout(CONNECT_TIMEOUT)
            .response_timeout(RESPONSE_TIMEOUT)
            .tcp_settings(tcp_settings());
        match &self.certificates {
            Some(certificates) => builder.certs(certificates.clone()),
            None => builder,
        }
    }

    pub fn error(&self, error: &redis::RedisError) -> HotError {
        hot_error("connect", &self.shown, error)
    }

    pub fn shown(&self) -> &str {
        &self.shown
    }
}

fn tcp_settings() -> TcpSettings {
    TcpSettings::default()
        .set_nodelay(true)
        .set_keepalive(TcpKeepalive::new().with_time(TCP_KEEPALIVE))
        .set_user_timeout(TCP_USER_TIMEOUT)
}

fn info(url: &str, options: &RedisOptions) -> RedisResult<ConnectionInfo> {
    let info = url.into_connection_info()?.set_tcp_settings(tcp_settings());
    let mut settings = info.redis_settings().clone();
    if let Some(user) = &options.user {
        settings = settings.set_username(user);
    }
    if let Some(password) = &options.password {
        settings = settings.set_password(password);
    }
    Ok(info.set_redis_settings(settings))
}

fn certificates(tls: &RedisTls) -> Result<Option<TlsCertificates>, String> {
    let read =
        |path: &std::path::Path| std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    if tls.ca.is_none() && tls.client.is_none() {
        return Ok(None);
    }
    let root_cert = tls.ca.as_deref().map(read).transpose()?;
    let client_tls = match &tls.client {
        Some((chain, key)) => Some(ClientTlsConfig { client_cert: read(chain)?, client_key: read(key)? }),
        None => None,
    };
    Ok(Some(TlsCertificates { client_tls, root_cert }))
}

/// What commands are sent to.
pub(super) enum Server {
    One(Box<One>),
    Cluster(ClusterConnection),
}

/// The connection to one server, made again when it is lost.
pub(super) struct One {
    client: Client,
    manager: Mutex<ConnectionManager>,
}

impl One {
    pub fn connection(&self) -> ConnectionManager {
        self.manager.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Connects again by the address: after a failover it may lead to another server, while the connection there is
    /// still leads to the old one, which has become a replica.
    fn connect_again(&self) -> RedisResult<()> {
        let manager = ConnectionManager::new_lazy_with_config(self.client.clone(), manager_config())?;
        *self.manager.lock().unwrap_or_else(PoisonError::into_inner) = manager;
        Ok(())
    }
}

fn manager_config() -> ConnectionManagerConfig {
    ConnectionManagerConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(RESPONSE_TIMEOUT))
        .set_min_delay(RECONNECT_PAUSE_MIN)
        .set_max_delay(RECONNECT_PAUSE_MAX)
        .set_number_of_retries(RECONNECT_ATTEMPTS)
        .set_pipeline_buffer_size(WRITE_QUEUE)
}

impl Server {
    /// Connects; whether it is a cluster is the first server's to say.
    pub async fn connect(target: &Target) -> Result<Self, HotError> {
        let client = target.client(ProtocolVersion::RESP2)?;
        let info = first_answer(&client).await.map_err(|error| target.error(&error))?;
        check_version(target, &info)?;
        if !info.contains("cluster_enabled:1") {
            if target.infos.len() > 1 {
                let detail = "several addresses are given, but the server is of no cluster";
                return Err(HotError::new("connect", target.shown(), HotErrorKind::Refused, detail));
            }
            let manager = ConnectionManager::new_lazy_with_config(client.clone(), manager_config())
                .map_err(|error| target.error(&error))?;
            return Ok(Self::One(Box::new(One { client, manager: Mutex::new(manager) })));
        }
        let client = target.cluster(ProtocolVersion::RESP2).build().map_err(|error| target.error(&error))?;
        let cluster = client.get_async_connection().await.map_err(|error| target.error(&error))?;
        Ok(Self::Cluster(cluster))
    }

    pub const fn is_cluster(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }

    /// Sends one command.
    pub async fn command(&self, command: &redis::Cmd) -> RedisResult<redis::Value> {
        let value = match self {
            Self::One(one) => one.connection().req_packed_command(command).await?,
            Self::Cluster(cluster) => cluster.clone().req_packed_command(command).await?,
        };
        value.extract_error()
    }

    /// The server has said that it is a replica. A cluster's client finds the master by itself.
    pub fn leads_to_a_replica(&self) {
        if let Self::One(one) = self
            && let Err(error) = one.connect_again()
        {
            // Only for options that can't be, and these have made a connection before.
            tracing::warn!(%error, "no new connection to Redis");
        }
    }
}

/// What the server says of itself. Where everything starts at once, one that is there may be slower than it ever is later.
async fn first_answer(client: &Client) -> RedisResult<String> {
    let patient = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(FIRST_ANSWER_WITHIN))
        .set_response_timeout(Some(FIRST_ANSWER_WITHIN));
    let mut connection = client.get_multiplexed_async_connection_with_config(&patient).await?;
    redis::cmd("INFO").arg("server").arg("cluster").query_async(&mut connection).await
}

/// Scripts use what came with this version: sharded channels, effects in place of scripts in replication.
const OLDEST_MAJOR: u32 = 7;

fn check_version(target: &Target, info: &str) -> Result<(), HotError> {
    let version = info.lines().find_map(|line| line.strip_prefix("redis_version:")).unwrap_or("unknown");
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_some_and(|major| major >= OLDEST_MAJOR) {
        return Ok(());
    }
    let detail = format!("the server is of version {version}, and {OLDEST_MAJOR} is needed at least");
    Err(HotError::new("connect", target.shown(), HotErrorKind::Refused, detail))
}
