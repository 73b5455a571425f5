use prometheus::{IntCounter, Registry};

/// What the watermark role counts.
#[derive(Clone, Debug)]
pub struct WatermarkMetrics {
    /// `readmark_watermark_regress_total`.
    pub regress_total: IntCounter,
    /// `readmark_expansion_receipts_total`.
    pub expansion_receipts_total: IntCounter,
}

impl WatermarkMetrics {
    /// Registers them.
    ///
    /// # Errors
    /// When one of them is registered already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let metrics = Self {
            regress_total: IntCounter::new(
                "readmark_watermark_regress_total",
                "Watermarks read back lower than what was written: must stay 0 (RR-3).",
            )?,
            expansion_receipts_total: IntCounter::new(
                "readmark_expansion_receipts_total",
                "Receipts that marks were expanded into.",
            )?,
        };
        registry.register(Box::new(metrics.regress_total.clone()))?;
        registry.register(Box::new(metrics.expansion_receipts_total.clone()))?;
        Ok(metrics)
    }
}
