//! The roles as tasks.

use crate::tap::RoleKind;
use prometheus::Registry;
use readmark_aggregator::{Aggregator, AggregatorMetrics};
use readmark_catalog::{Catalog, CatalogMetrics};
use readmark_hot::HotState;
use readmark_notifier::{Notifier, NotifierMetrics};
use readmark_runtime::consume::consume;
use readmark_runtime::metrics::SharedMetrics;
use readmark_runtime::ports::{Ports, Rules};
use readmark_runtime::role::RoleError;
use readmark_watermark::{Watermark, WatermarkMetrics};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use tokio_util::sync::CancellationToken;

struct Metrics {
    shared: SharedMetrics,
    catalog: CatalogMetrics,
    aggregator: AggregatorMetrics,
    watermark: WatermarkMetrics,
    notifier: NotifierMetrics,
}

/// The roles' metrics, once per process: the simulation does not look at them.
fn metrics() -> Option<&'static Metrics> {
    static METRICS: OnceLock<Option<Metrics>> = OnceLock::new();
    let make = || -> Result<Metrics, prometheus::Error> {
        let registry = Registry::new();
        Ok(Metrics {
            shared: SharedMetrics::register(&registry)?,
            catalog: CatalogMetrics::register(&registry)?,
            aggregator: AggregatorMetrics::register(&registry)?,
            watermark: WatermarkMetrics::register(&registry)?,
            notifier: NotifierMetrics::register(&registry)?,
        })
    };
    METRICS.get_or_init(|| make().ok()).as_ref()
}

/// A role in its consumer loop.
pub type RoleFuture = Pin<Box<dyn Future<Output = Result<(), RoleError>> + Send>>;

/// A role in its consumer loop; `None` when its metrics can't be registered, or it is none.
pub fn role_future(
    role: RoleKind,
    ports: Ports,
    hot: Arc<dyn HotState>,
    rules: Rules,
    stop: CancellationToken,
) -> Option<RoleFuture> {
    let metrics = metrics()?;
    let shared = metrics.shared.clone();
    Some(match role {
        RoleKind::Catalog => Box::pin(async move {
            let mut role = Catalog::new(ports.clone(), rules.clone(), shared, metrics.catalog.clone());
            consume(&mut role, &ports, &rules, &stop).await
        }),
        RoleKind::Aggregator => Box::pin(async move {
            let mut role = Aggregator::new(ports.clone(), rules.clone(), shared, metrics.aggregator.clone());
            consume(&mut role, &ports, &rules, &stop).await
        }),
        RoleKind::Watermark => Box::pin(async move {
            let mut role = Watermark::new(ports.clone(), rules.clone(), shared, metrics.watermark.clone());
            consume(&mut role, &ports, &rules, &stop).await
        }),
        RoleKind::Notifier => Box::pin(async move {
            let mut role = Notifier::new(ports.clone(), hot, &rules, shared, metrics.notifier.clone());
            consume(&mut role, &ports, &rules, &stop).await
        }),
        RoleKind::Device => return None,
    })
}
