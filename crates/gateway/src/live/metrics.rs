use prometheus::{IntCounter, IntGauge, Opts, Registry};

/// Metrics of connections.
#[derive(Clone)]
pub struct LiveMetrics {
    pub(super) connections: IntGauge,
    pub(super) slow_clients_closed_total: IntCounter,
}

impl LiveMetrics {
    /// Registers them.
    ///
    /// # Errors
    /// When they are registered already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let connections = IntGauge::with_opts(Opts::new(
            "readmark_websocket_connections",
            "WebSocket connections that are open.",
        ))?;
        let slow_clients_closed_total = IntCounter::with_opts(Opts::new(
            "readmark_slow_clients_closed_total",
            "WebSocket connections closed because the client did not take what was sent.",
        ))?;
        registry.register(Box::new(connections.clone()))?;
        registry.register(Box::new(slow_clients_closed_total.clone()))?;
        Ok(Self { connections, slow_clients_closed_total })
    }
}
