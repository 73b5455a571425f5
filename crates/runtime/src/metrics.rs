//! Metrics that several roles count.

use crate::dead_letter::REASONS;
use prometheus::{IntCounterVec, IntGaugeVec, Opts, Registry};
use readmark_domain::invariant::{self, Checked};

/// Kinds of facts that lose against one of greater order: the labels of `readmark_stale_facts_total`.
const STALE_KINDS: [&str; 3] = ["member_joined", "member_left", "conversation_closed"];

/// Counters shared by the roles of a process.
#[derive(Clone, Debug)]
pub struct SharedMetrics {
    /// `readmark_dead_letters_total{reason}`.
    pub dead_letters_total: IntCounterVec,
    /// `readmark_stale_facts_total{kind}`.
    pub stale_facts_total: IntCounterVec,
    /// `readmark_consumer_lag{role,partition}`.
    pub consumer_lag: IntGaugeVec,
    /// `readmark_invariant_violations_total{invariant}`.
    pub invariant_violations_total: IntCounterVec,
}

impl SharedMetrics {
    /// Registers them.
    ///
    /// # Errors
    /// When one of them is registered already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let metrics = Self {
            dead_letters_total: IntCounterVec::new(
                Opts::new("readmark_dead_letters_total", "Records put among the dead letters, by reason."),
                &["reason"],
            )?,
            stale_facts_total: IntCounterVec::new(
                Opts::new(
                    "readmark_stale_facts_total",
                    "Facts that lost against one of greater order already known, by kind.",
                ),
                &["kind"],
            )?,
            consumer_lag: IntGaugeVec::new(
                Opts::new(
                    "readmark_consumer_lag",
                    "Records of a partition (topic/number) after the position its role has stored.",
                ),
                &["role", "partition"],
            )?,
            invariant_violations_total: IntCounterVec::new(
                Opts::new(
                    "readmark_invariant_violations_total",
                    "Observations that break an invariant (RR-1 … RR-10): must stay 0.",
                ),
                &["invariant"],
            )?,
        };
        // An alert on the first one needs a series that was 0 before.
        for kind in STALE_KINDS {
            metrics.stale_facts_total.with_label_values(&[kind]);
        }
        for reason in REASONS {
            metrics.dead_letters_total.with_label_values(&[reason]);
        }
        for invariant in invariant::ALL {
            metrics.invariant_violations_total.with_label_values(&[invariant.id]);
        }
        registry.register(Box::new(metrics.dead_letters_total.clone()))?;
        registry.register(Box::new(metrics.stale_facts_total.clone()))?;
        registry.register(Box::new(metrics.consumer_lag.clone()))?;
        registry.register(Box::new(metrics.invariant_violations_total.clone()))?;
        Ok(metrics)
    }

    /// Counts and tells a broken invariant; says whether it held.
    pub fn watch(&self, checked: Checked) -> bool {
        let Err(violation) = checked else { return true };
        self.invariant_violations_total.with_label_values(&[violation.invariant.id]).inc();
        tracing::error!(invariant = violation.invariant.id, "{violation}");
        false
    }
}
