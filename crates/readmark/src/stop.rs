//! The signals that ask the program to stop.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// SIGTERM and SIGINT, heard from here on; until then they end the process at once.
pub(crate) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// Must be called within a runtime.
    pub fn hear() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Resolves at the first one, which may have come before.
    pub async fn asked(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Cancels `stop` at the first signal.
pub(crate) async fn cancel_when_asked(mut signals: StopSignals, stop: CancellationToken) {
    tokio::select! {
        () = signals.asked() => tracing::info!("asked to stop: finishing what is open"),
        () = stop.cancelled() => {}
    }
    stop.cancel();
}
