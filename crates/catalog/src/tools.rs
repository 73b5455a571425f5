use crate::group_size::GroupSizes;
use crate::metrics::CatalogMetrics;
use readmark_runtime::metrics::SharedMetrics;
use readmark_runtime::ports::{Ports, Rules};
use readmark_runtime::retry::Retrier;

/// What every step of the catalog uses.
pub(crate) struct Tools {
    pub ports: Ports,
    pub rules: Rules,
    pub retrier: Retrier,
    pub sizes: GroupSizes,
    pub shared: SharedMetrics,
    pub metrics: CatalogMetrics,
}
