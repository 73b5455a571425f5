use prometheus::Registry;
use readmark_aggregator::{Aggregator, AggregatorMetrics};
use readmark_catalog::{Catalog, CatalogMetrics};
use readmark_janitor::{Janitor, JanitorMetrics};
use readmark_runtime::consume::consume;
use readmark_runtime::metrics::SharedMetrics;
use readmark_runtime::ports::{Ports, Rules};
use readmark_runtime::role::Role;
use readmark_watermark::{Watermark, WatermarkMetrics};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Messages and members.
    Catalog,
    /// Receipts.
    Aggregator,
    /// Marks.
    Watermark,
    /// Dead letters.
    Janitor,
}

/// A role that runs; it stops when the test stops it, or lets it go.
pub struct Running {
    stop: CancellationToken,
    task: JoinHandle<()>,
    /// What the janitor shows.
    pub janitor: Option<JanitorMetrics>,
}

impl Running {
    /// Starts a role. Two of one role with different prefixes know nothing of each other.
    #[must_use]
    pub fn start(which: Which, ports: &Ports, prefix: &str) -> Self {
        let rules = Rules { prefix: prefix.to_owned(), ..Rules::default() };
        let registry = Registry::new();
        let shared = SharedMetrics::register(&registry).unwrap();
        let mut janitor = None;
        let mut role: Box<dyn Role> = match which {
            Which::Catalog => {
                let metrics = CatalogMetrics::register(&registry).unwrap();
                Box::new(Catalog::new(ports.clone(), rules.clone(), shared, metrics))
            }
            Which::Aggregator => {
                let metrics = AggregatorMetrics::register(&registry).unwrap();
                Box::new(Aggregator::new(ports.clone(), rules.clone(), shared, metrics))
            }
            Which::Watermark => {
                let metrics = WatermarkMetrics::register(&registry).unwrap();
                Box::new(Watermark::new(ports.clone(), rules.clone(), shared, metrics))
            }
            Which::Janitor => {
                let metrics = JanitorMetrics::register(&registry).unwrap();
                janitor = Some(metrics.clone());
                Box::new(Janitor::new(ports.clone(), metrics))
            }
        };
        let (stop, ports) = (CancellationToken::new(), ports.clone());
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            consume(&mut *role, &ports, &rules, &stopped).await.unwrap_or_else(|e| panic!("{which:?}: {e}"));
        });
        Self { stop, task, janitor }
    }

    /// Stops it and waits until it has.
    pub async fn stop(self) {
        self.stop.cancel();
        self.task.await.expect("the role has not broken off");
    }

    /// Ends it in the middle of whatever it does.
    pub async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}
