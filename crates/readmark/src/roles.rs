//! The consuming roles of a process.

use crate::role_name::{RoleName, RoleSet};
use prometheus::Registry;
use readmark_aggregator::{Aggregator, AggregatorMetrics};
use readmark_catalog::{Catalog, CatalogMetrics};
use readmark_hot::HotState;
use readmark_http::Check;
use readmark_janitor::{Janitor, JanitorMetrics};
use readmark_notifier::{Notifier, NotifierMetrics};
use readmark_runtime::consume::{Standing, consume_watched};
use readmark_runtime::lag::Consumed;
use readmark_runtime::metrics::SharedMetrics;
use readmark_runtime::ports::{Ports, Rules};
use readmark_runtime::role::{Role, RoleError};
use readmark_watermark::{Watermark, WatermarkMetrics};
use std::sync::Arc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How a role ended: its name, and what stopped it.
pub(crate) type Ended = (&'static str, Result<(), RoleError>);

/// Roles that run.
pub(crate) struct RunningRoles {
    pub tasks: JoinSet<Ended>,
    /// One for each: does it have its share of the partitions?
    pub checks: Vec<Check>,
    /// What each consumes.
    pub consumed: Vec<Consumed>,
}

/// Starts the consuming roles among `chosen`.
pub(crate) fn start(
    chosen: &RoleSet,
    ports: &Ports,
    hot: Option<&Arc<dyn HotState>>,
    rules: &Rules,
    registry: &Registry,
    shared: &SharedMetrics,
    stop: &CancellationToken,
) -> Result<RunningRoles, prometheus::Error> {
    let given = || (ports.clone(), rules.clone(), shared.clone());
    // They stop one after the other along the flow, so that what one hands on at the end is still handled.
    let mut along_the_flow: Vec<Box<dyn Role>> = Vec::new();
    if chosen.has(RoleName::Janitor) {
        let metrics = JanitorMetrics::register(registry)?;
        along_the_flow.push(Box::new(Janitor::new(ports.clone(), metrics)));
    }
    if chosen.has(RoleName::Catalog) {
        let (ports, rules, shared) = given();
        let metrics = CatalogMetrics::register(registry)?;
        along_the_flow.push(Box::new(Catalog::new(ports, rules, shared, metrics)));
    }
    if chosen.has(RoleName::Watermark) {
        let (ports, rules, shared) = given();
        let metrics = WatermarkMetrics::register(registry)?;
        along_the_flow.push(Box::new(Watermark::new(ports, rules, shared, metrics)));
    }
    if chosen.has(RoleName::Aggregator) {
        let (ports, rules, shared) = given();
        let metrics = AggregatorMetrics::register(registry)?;
        along_the_flow.push(Box::new(Aggregator::new(ports, rules, shared, metrics)));
    }
    if chosen.has(RoleName::Notifier)
        && let Some(hot) = hot
    {
        let (ports, rules, shared) = given();
        let metrics = NotifierMetrics::register(registry)?;
        along_the_flow.push(Box::new(Notifier::new(ports, hot.clone(), &rules, shared, metrics)));
    }
    let mut running = RunningRoles { tasks: JoinSet::new(), checks: Vec::new(), consumed: chosen.consumed() };
    let mut stop = stop.clone();
    for role in along_the_flow {
        let stop_next = CancellationToken::new();
        running.start(role, ports.clone(), rules.clone(), stop, stop_next.clone());
        stop = stop_next;
    }
    Ok(running)
}

impl RunningRoles {
    fn start(
        &mut self,
        mut role: Box<dyn Role>,
        ports: Ports,
        rules: Rules,
        stop: CancellationToken,
        stop_next: CancellationToken,
    ) {
        let name = role.name();
        let standing = Arc::new(Standing::default());
        let seen = standing.clone();
        self.checks.push(Check::new(name, move || {
            let is_assigned = seen.is_assigned();
            Box::pin(async move {
                if is_assigned { Ok(()) } else { Err("waits for its share of the partitions".to_owned()) }
            })
        }));
        self.tasks.spawn(async move {
            // Also when the role breaks off.
            let _stop_next = stop_next.drop_guard();
            let ended = consume_watched(&mut *role, &ports, &rules, &stop, &standing).await;
            (name, ended)
        });
    }
}
