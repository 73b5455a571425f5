use crate::metrics::WatermarkMetrics;
use readmark_runtime::metrics::SharedMetrics;
use readmark_runtime::ports::{Ports, Rules};
use readmark_runtime::retry::Retrier;

/// What every step of the role uses.
pub(crate) struct Tools {
    pub ports: Ports,
    pub rules: Rules,
    pub retrier: Retrier,
    pub metrics: WatermarkMetrics,
    pub shared: SharedMetrics,
}
