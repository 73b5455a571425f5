use prometheus::{IntCounter, IntGauge, Opts, Registry};
use readmark_hot::Usage;

/// Metrics of the hot state.
#[derive(Clone)]
pub(crate) struct HotMetrics {
    users: IntGauge,
    memory_bytes: IntGauge,
    pub rebuilds_total: IntCounter,
}

impl HotMetrics {
    /// Registers them.
    ///
    /// # Errors
    /// When they are registered already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let gauge = |name, help| IntGauge::with_opts(Opts::new(name, help));
        let metrics = Self {
            users: gauge("readmark_hot_users", "Users with a hot state, as last counted.")?,
            memory_bytes: gauge("readmark_hot_memory_bytes", "Memory that the hot state takes, in bytes.")?,
            rebuilds_total: IntCounter::with_opts(Opts::new(
                "readmark_hot_rebuilds_total",
                "Hot states of users rebuilt from the store by this process.",
            ))?,
        };
        registry.register(Box::new(metrics.users.clone()))?;
        registry.register(Box::new(metrics.memory_bytes.clone()))?;
        registry.register(Box::new(metrics.rebuilds_total.clone()))?;
        Ok(metrics)
    }

    pub fn show(&self, usage: Usage) {
        self.users.set(i64::try_from(usage.users).unwrap_or(i64::MAX));
        self.memory_bytes.set(i64::try_from(usage.memory_bytes).unwrap_or(i64::MAX));
    }
}
