//! The keys, with their defaults. Each is documented in `docs/configuration.md`.

use super::hot::HotSection;
use super::listen;
use super::log::LogSection;
use super::store::StoreSection;
use readmark_domain::register::ReceiptsMode;
use readmark_domain::time::OrderSource;
use readmark_domain::verdict::Retention;
use readmark_gateway::GatewaySettings;
use readmark_http::{AuthSettings, HttpSettings};
use readmark_query::{DetailsVisibleTo, QuerySettings};
use readmark_runtime::ports::Rules;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;

/// The configuration of readmark. Every key has a default; `docs/configuration.md` has the long form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// Where to serve: an IP address, or localhost, and a port. Port 0 lets the system choose.
    #[serde(deserialize_with = "listen::one")]
    pub listen: SocketAddr,
    /// Where to serve /healthz, /readyz, /metrics and /openapi.json instead, which need no token.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "listen::some")]
    pub admin_listen: Option<SocketAddr>,
    /// Where everything is kept that is not on servers.
    pub data_dir: PathBuf,
    /// The event log.
    pub log: LogSection,
    /// The receipt store.
    pub store: StoreSection,
    /// Unread registers and sync streams.
    pub hot: HotSection,
    /// Keys of tokens.
    pub auth: AuthSettings,
    /// Receipts.
    pub receipts: ReceiptsSection,
    /// What is later than what.
    pub order: OrderSection,
    /// Limits of the HTTP server.
    pub http: HttpSettings,
    /// The gateway role.
    pub gateway: GatewaySettings,
    /// The query role.
    pub query: QuerySection,
    /// Log lines.
    pub telemetry: TelemetrySection,
    /// The demo page.
    pub demo: DemoSection,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ReceiptsSection {
    /// Policy of conversations that have none.
    pub default: ReceiptsMode,
    /// How long messages and their readers are kept, in days; acks stay in the log as long.
    pub expire_days: u32,
    /// Who may see the names of readers.
    pub details_visible_to: DetailsVisibleTo,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct OrderSection {
    /// What orders facts about members, policy and closing.
    pub source: OrderSource,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct QuerySection {
    /// Requests that read the store at once; the others wait a second at most, then 503.
    pub max_reads_in_flight: usize,
    /// Uids held for answers about conversations of more than 5,000 members: rosters and readers each, about 40 and 8
    /// bytes a uid.
    pub large_cache_uids: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TelemetrySection {
    /// Which log lines are written, as in `info` or `warn,readmark_aggregator=debug`.
    pub filter: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DemoSection {
    /// Does `readmark up` serve a demo page at `/demo/`? Only on a loopback address, and with demo users only.
    pub enabled: bool,
}

impl Default for DemoSection {
    fn default() -> Self {
        Self { enabled: true }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            admin_listen: None,
            data_dir: PathBuf::from("./readmark-data"),
            log: LogSection::default(),
            store: StoreSection::default(),
            hot: HotSection::default(),
            auth: AuthSettings::default(),
            receipts: ReceiptsSection::default(),
            order: OrderSection::default(),
            http: HttpSettings::default(),
            gateway: GatewaySettings::default(),
            query: QuerySection::default(),
            telemetry: TelemetrySection::default(),
            demo: DemoSection::default(),
        }
    }
}

impl Default for ReceiptsSection {
    fn default() -> Self {
        let details_visible_to = DetailsVisibleTo::Sender;
        Self { default: ReceiptsMode::Full, expire_days: 90, details_visible_to }
    }
}

impl Default for QuerySection {
    fn default() -> Self {
        let QuerySettings { max_reads_in_flight, large_cache_uids, .. } = QuerySettings::default();
        Self { max_reads_in_flight, large_cache_uids }
    }
}

impl Default for TelemetrySection {
    fn default() -> Self {
        Self { filter: "info,scylla=error,scylla::cluster::metadata=off".to_owned() }
    }
}

impl Config {
    /// The rules that several roles must agree on.
    pub fn rules(&self) -> Rules {
        Rules {
            prefix: self.log.topic_prefix.clone(),
            default_receipts: self.receipts.default,
            retention: Retention::days(self.receipts.expire_days),
            order_source: self.order.source,
        }
    }

    /// The settings of the query role.
    pub fn query_settings(&self) -> QuerySettings {
        QuerySettings {
            details_visible_to: self.receipts.details_visible_to,
            max_reads_in_flight: self.query.max_reads_in_flight,
            large_cache_uids: self.query.large_cache_uids,
        }
    }
}
