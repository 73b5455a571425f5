use crate::port::HotState;
use async_trait::async_trait;
use std::sync::Arc;

/// What an outside part may lose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// What was loaded to run operations; no state.
    Scripts,
    /// Every state; the server goes on.
    States,
    /// The server was restarted. What it has kept may lack the last writes.
    Restart,
}

/// A hot state under test.
#[async_trait]
pub trait Subject: Send + Sync {
    /// The hot state.
    fn hot(&self) -> Arc<dyn HotState>;

    /// Loses something.
    async fn lose(&mut self, loss: Loss);

    /// Lets this much time pass, by turning a clock; where there is none to turn, waits a moment.
    async fn pass_ms(&self, ms: u64);

    /// From now on a rebuild keeps others away only so long that it can be waited for. Nothing to do where a clock can
    /// be turned.
    async fn shorten_lease(&mut self) {}

    /// The next answer is lost after its call took effect; `false` when this subject can't do that.
    fn lose_next_answer(&self) -> bool {
        false
    }
}
