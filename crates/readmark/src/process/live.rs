//! What serves users' devices: the calls of gateway and query, and the connections, all upon the hot state.

use crate::config::Config;
use crate::exit::Failure;
use crate::parts::Parts;
use crate::role_name::{RoleName, RoleSet};
use axum::Router;
use futures::FutureExt;
use prometheus::Registry;
use readmark_gateway::Gateway;
use readmark_gateway::live::{LiveMetrics, Sockets};
use readmark_hot::HotState;
use readmark_http::Check;
use readmark_query::Query;
use readmark_sync::{Live, LiveSettings};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The roles that use the hot state, but for the notifier.
pub(super) struct LiveParts {
    hot: Arc<dyn HotState>,
    query: Option<Arc<Query>>,
    gateway: Option<(Arc<Gateway>, Arc<Sockets>)>,
}

impl LiveParts {
    /// Starts those that are chosen; connections are closed when `stop` is cancelled.
    pub fn start(
        config: &Config,
        chosen: &RoleSet,
        parts: &Parts,
        hot: Arc<dyn HotState>,
        registry: &Registry,
        stop: &CancellationToken,
    ) -> Result<Self, Failure> {
        let live = Live::new(&parts.ports(), hot.clone(), &LiveSettings::default(), registry);
        let live = live.map_err(Failure::failed)?;
        tokio::spawn(live.clone().watch_usage(stop.clone()));
        let query = chosen
            .has(RoleName::Query)
            .then(|| Query::new(parts.ports(), live.clone(), config.rules(), config.query_settings()));
        let gateway = match chosen.has(RoleName::Gateway) {
            true => {
                let gateway = Gateway::new(parts.gateway_ports()?, config.rules(), &config.gateway);
                let metrics = LiveMetrics::register(registry).map_err(Failure::failed)?;
                let (hot, stop) = (hot.clone(), stop.clone());
                let sockets = Sockets::start(gateway.clone(), live, hot, &config.gateway, metrics, stop);
                Some((gateway, sockets))
            }
            false => None,
        };
        Ok(Self { hot, query, gateway })
    }

    /// Their calls.
    pub fn calls(&self) -> Router {
        let mut calls = Router::new();
        if let Some((gateway, sockets)) = &self.gateway {
            calls = calls.merge(readmark_gateway::routes(gateway.clone()));
            calls = calls.merge(readmark_gateway::live::routes(sockets.clone()));
        }
        if let Some(query) = &self.query {
            calls = calls.merge(readmark_query::routes(query.clone()));
        }
        calls
    }

    /// The description of their calls.
    pub fn described(&self) -> Vec<utoipa::openapi::OpenApi> {
        let mut described = Vec::new();
        if self.gateway.is_some() {
            described.extend([readmark_gateway::openapi(), readmark_gateway::live::openapi()]);
        }
        if self.query.is_some() {
            described.push(readmark_query::openapi());
        }
        described
    }

    /// Does the hot state answer?
    pub fn check(&self) -> Check {
        let hot = self.hot.clone();
        Check::new("hot", move || {
            let hot = hot.clone();
            async move { hot.probe().await.map_err(|error| error.to_string()) }.boxed()
        })
    }

    /// Waits until every connection is closed, `limit` at most.
    pub async fn closed(self, limit: Duration) {
        if let Some((_, sockets)) = self.gateway
            && tokio::time::timeout(limit, sockets.closed()).await.is_err()
        {
            tracing::warn!("connections were cut off: they did not close in time");
        }
    }
}
