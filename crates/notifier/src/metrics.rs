use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, Opts, Registry, exponential_buckets,
};
use readmark_domain::window::Tier;

/// What becomes of what a user is told.
const OUTCOMES: [&str; 3] = ["entry", "nothing_new", "no_state"];

/// What the notifier counts.
#[derive(Clone, Debug)]
pub struct NotifierMetrics {
    /// `readmark_ack_to_push_seconds{tier}`.
    pub ack_to_push_seconds: HistogramVec,
    /// `readmark_message_to_unread_seconds`.
    pub message_to_unread_seconds: Histogram,
    /// `readmark_users_told_total{outcome}`: entry, nothing_new, no_state.
    pub users_told_total: IntCounterVec,
    /// `readmark_fan_outs`.
    pub fan_outs: IntGauge,
}

impl NotifierMetrics {
    /// Registers them.
    ///
    /// # Errors
    /// When one of them is registered already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        // 1 ms to 33 s: from a message to a small group to an ack that was parked to the end.
        let buckets = exponential_buckets(0.001, 2.0, 16)?;
        let metrics = Self {
            ack_to_push_seconds: HistogramVec::new(
                HistogramOpts::new(
                    "readmark_ack_to_push_seconds",
                    "From accepted at the gateway to the sender's message_read entry readable, by size of group.",
                )
                .buckets(buckets.clone()),
                &["tier"],
            )?,
            message_to_unread_seconds: Histogram::with_opts(
                HistogramOpts::new(
                    "readmark_message_to_unread_seconds",
                    "From a message accepted at the gateway to the last of its unread entries readable.",
                )
                .buckets(buckets),
            )?,
            users_told_total: IntCounterVec::new(
                Opts::new("readmark_users_told_total", "Users told of a change, by what became of it."),
                &["outcome"],
            )?,
            fan_outs: IntGauge::new("readmark_fan_outs", "Conversations whose members are being told now.")?,
        };
        for tier in [Tier::Small, Tier::Medium, Tier::Large] {
            metrics.ack_to_push_seconds.with_label_values(&[tier.as_str()]);
        }
        for outcome in OUTCOMES {
            metrics.users_told_total.with_label_values(&[outcome]);
        }
        registry.register(Box::new(metrics.ack_to_push_seconds.clone()))?;
        registry.register(Box::new(metrics.message_to_unread_seconds.clone()))?;
        registry.register(Box::new(metrics.users_told_total.clone()))?;
        registry.register(Box::new(metrics.fan_outs.clone()))?;
        Ok(metrics)
    }

    /// Counts users who were told, by the entries that came of it; `None` for those without a state.
    pub(crate) fn count(&self, appended: impl Iterator<Item = Option<u32>>) {
        let mut counts = [0_u64; OUTCOMES.len()];
        for appended in appended {
            counts[match appended {
                Some(0) => 1,
                Some(_) => 0,
                None => 2,
            }] += 1;
        }
        for (outcome, count) in OUTCOMES.into_iter().zip(counts) {
            self.users_told_total.with_label_values(&[outcome]).inc_by(count);
        }
    }
}
