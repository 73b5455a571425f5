//! The keys, with their defaults. Each is documented in `docs/configuration.md`.

use super::hot::HotSection;
use super::log::LogSection;
use super::store::StoreSection;
use readmark_domain::register::ReceiptsMode;
use readmark_domain::time::OrderSource;
use readmark_domain::verdict::Retention;
use readmark_gateway::GatewaySettings;
use readmark_http::{AuthSettings, HttpSettings};
use readmark_query::{DetailsVisibleTo, QuerySettings};
use readmark_runtime::ports::Rules;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Everything that can be configured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// Where to serve.
    pub listen: SocketAddr,
    /// Where to serve the operator's calls instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin_listen: Option<SocketAddr>,
    /// Where everything is kept.
    pub data_dir: PathBuf,
    pub log: LogSection,
    pub store: StoreSection,
    pub hot: HotSection,
    pub auth: AuthSettings,
    pub receipts: ReceiptsSection,
    pub order: OrderSection,
    pub http: HttpSettings,
    pub gateway: GatewaySettings,
    pub query: QuerySection,
    pub telemetry: TelemetrySection,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ReceiptsSection {
    /// Policy of conversations that have none.
    pub default: ReceiptsMode,
    /// How long messages and their readers are kept.
    pub expire_days: u32,
    /// Who may see the names of readers.
    pub details_visible_to: DetailsVisibleTo,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct OrderSection {
    /// What orders facts about members, policy and closing.
    pub source: OrderSource,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct QuerySection {
    pub max_reads_in_flight: usize,
    pub large_cache_uids: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TelemetrySection {
    /// Which log lines are written, as in `info` or `warn,readmark_aggregator=debug`.
    pub filter: String,
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
        Self { filter: "info".to_owned() }
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
