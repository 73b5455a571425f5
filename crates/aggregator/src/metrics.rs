use prometheus::{
    Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, Opts, Registry, exponential_buckets,
};

/// What the aggregator counts.
#[derive(Clone, Debug)]
pub struct AggregatorMetrics {
    /// `readmark_receipts_total{outcome}`: new, duplicate, ignored, parked, dead.
    pub receipts_total: IntCounterVec,
    /// `readmark_flush_receipts_total`.
    pub flush_receipts_total: IntCounter,
    /// `readmark_flush_statements_total`.
    pub flush_statements_total: IntCounter,
    /// `readmark_message_read_total`.
    pub message_read_total: IntCounter,
    /// `readmark_windows_open`.
    pub windows_open: IntGauge,
    /// `readmark_ack_to_store_seconds`.
    pub ack_to_store_seconds: Histogram,
}

impl AggregatorMetrics {
    /// Registers them.
    ///
    /// # Errors
    /// When one of them is registered already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        // 1 ms to 33 s: from an immediate flush to a record that was parked to the end.
        let buckets = exponential_buckets(0.001, 2.0, 16)?;
        let metrics = Self {
            receipts_total: IntCounterVec::new(
                Opts::new("readmark_receipts_total", "Receipts handled, by what became of them."),
                &["outcome"],
            )?,
            flush_receipts_total: IntCounter::new(
                "readmark_flush_receipts_total",
                "Receipts written to read arrays.",
            )?,
            flush_statements_total: IntCounter::new(
                "readmark_flush_statements_total",
                "Statements to read arrays: one per message and flush that has new readers.",
            )?,
            message_read_total: IntCounter::new(
                "readmark_message_read_total",
                "message_read records produced to senders.",
            )?,
            windows_open: IntGauge::new("readmark_windows_open", "Windows open now.")?,
            ack_to_store_seconds: Histogram::with_opts(
                HistogramOpts::new(
                    "readmark_ack_to_store_seconds",
                    "From accepted at the gateway to durable in the read array.",
                )
                .buckets(buckets),
            )?,
        };
        for outcome in ["new", "duplicate", "ignored", "parked", "dead"] {
            metrics.receipts_total.with_label_values(&[outcome]);
        }
        registry.register(Box::new(metrics.receipts_total.clone()))?;
        registry.register(Box::new(metrics.flush_receipts_total.clone()))?;
        registry.register(Box::new(metrics.flush_statements_total.clone()))?;
        registry.register(Box::new(metrics.message_read_total.clone()))?;
        registry.register(Box::new(metrics.windows_open.clone()))?;
        registry.register(Box::new(metrics.ack_to_store_seconds.clone()))?;
        Ok(metrics)
    }

    pub(crate) fn count(&self, outcome: &str, receipts: usize) {
        self.receipts_total.with_label_values(&[outcome]).inc_by(receipts as u64);
    }
}
