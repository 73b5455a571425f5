use prometheus::{IntCounter, Registry};

/// What the catalog counts for itself.
#[derive(Clone, Debug)]
pub struct CatalogMetrics {
    /// `readmark_seq_conflicts_total`: an alert, the IM gave one seq to two messages.
    pub seq_conflicts_total: IntCounter,
}

impl CatalogMetrics {
    /// Registers them.
    ///
    /// # Errors
    /// When one of them is registered already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let seq_conflicts_total = IntCounter::new(
            "readmark_seq_conflicts_total",
            "Messages refused because their seq is taken by another message: the IM's numbering went back.",
        )?;
        registry.register(Box::new(seq_conflicts_total.clone()))?;
        Ok(Self { seq_conflicts_total })
    }
}
