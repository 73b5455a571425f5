use prometheus::{IntCounter, IntGauge, Registry};

/// What the janitor counts.
#[derive(Clone, Debug)]
pub struct JanitorMetrics {
    /// `readmark_dead_letters_open`.
    pub open: IntGauge,
    /// `readmark_dead_letters_buried`.
    pub buried: IntGauge,
    /// `readmark_dead_letters_redelivered_total`.
    pub redelivered_total: IntCounter,
}

impl JanitorMetrics {
    /// Registers them.
    ///
    /// # Errors
    /// When one of them is registered already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let metrics = Self {
            open: IntGauge::new(
                "readmark_dead_letters_open",
                "Dead letters of this process's partitions that wait to be delivered again.",
            )?,
            buried: IntGauge::new(
                "readmark_dead_letters_buried",
                "Dead letters of this process's partitions that were given up: an operator must look at them.",
            )?,
            redelivered_total: IntCounter::new(
                "readmark_dead_letters_redelivered_total",
                "Dead letters delivered again by the janitor.",
            )?,
        };
        registry.register(Box::new(metrics.open.clone()))?;
        registry.register(Box::new(metrics.buried.clone()))?;
        registry.register(Box::new(metrics.redelivered_total.clone()))?;
        Ok(metrics)
    }
}
