//! The consuming roles of a process.

use prometheus::Registry;
use readmark_aggregator::{Aggregator, AggregatorMetrics};
use readmark_catalog::{Catalog, CatalogMetrics};
use readmark_events::Topic;
use readmark_http::Check;
use readmark_runtime::consume::{Standing, consume_watched};
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
    /// One for each: does it own its partitions?
    pub checks: Vec<Check>,
    /// What each consumes.
    pub consumed: Vec<(&'static str, &'static [Topic])>,
}

/// Starts every consuming role.
pub(crate) fn start(
    ports: &Ports,
    rules: &Rules,
    registry: &Registry,
    shared: &SharedMetrics,
    stop: &CancellationToken,
) -> Result<RunningRoles, prometheus::Error> {
    let (ports, rules, shared) = (ports.clone(), rules.clone(), shared.clone());
    let catalog =
        Catalog::new(ports.clone(), rules.clone(), shared.clone(), CatalogMetrics::register(registry)?);
    let aggregator =
        Aggregator::new(ports.clone(), rules.clone(), shared.clone(), AggregatorMetrics::register(registry)?);
    let watermark =
        Watermark::new(ports.clone(), rules.clone(), shared, WatermarkMetrics::register(registry)?);
    let mut running = RunningRoles { tasks: JoinSet::new(), checks: Vec::new(), consumed: Vec::new() };
    // They stop one after the other along the flow, so that what one hands on at the end is still handled.
    let mut stop = stop.clone();
    for role in [Box::new(catalog) as Box<dyn Role>, Box::new(watermark), Box::new(aggregator)] {
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
        let (name, topics) = (role.name(), role.topics());
        let standing = Arc::new(Standing::default());
        let wanted: usize = topics.iter().map(|topic| ports.log.partitions(*topic) as usize).sum();
        self.consumed.push((name, topics));
        let seen = standing.clone();
        self.checks.push(Check::new(name, move || {
            let owned = seen.partitions();
            Box::pin(async move {
                if owned == wanted { Ok(()) } else { Err(format!("owns {owned} of {wanted} partitions")) }
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
