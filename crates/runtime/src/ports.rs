//! What a role is given.

use crate::clock::Clock;
use readmark_domain::register::ReceiptsMode;
use readmark_domain::time::OrderSource;
use readmark_domain::verdict::Retention;
use readmark_log::{EventLog, Group};
use readmark_store::ReceiptStore;
use std::sync::Arc;

/// The outside parts, each behind its port.
#[derive(Clone)]
pub struct Ports {
    /// Where facts go first.
    pub log: Arc<dyn EventLog>,
    /// Where state is.
    pub store: Arc<dyn ReceiptStore>,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

/// The few rules of an installation that several roles must agree on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Begins the names of groups.
    pub prefix: String,
    /// Policy of conversations that have none.
    pub default_receipts: ReceiptsMode,
    /// How long messages and their readers are kept.
    pub retention: Retention,
    /// Where the order of facts about members, policy and closing comes from.
    pub order_source: OrderSource,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            prefix: "readmark".to_owned(),
            default_receipts: ReceiptsMode::Full,
            retention: Retention::days(90),
            order_source: OrderSource::OccurredAt,
        }
    }
}

impl Rules {
    /// The consumer group of a role.
    #[must_use]
    pub fn group(&self, role: &str) -> Group {
        Group(format!("{}.{role}", self.prefix))
    }
}
