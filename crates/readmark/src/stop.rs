//! The signals that ask the program to stop.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Resolves at the first SIGTERM or SIGINT.
pub(crate) async fn asked() -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// Cancels `stop` at the first signal.
pub(crate) async fn cancel_when_asked(stop: CancellationToken) {
    tokio::select! {
        asked = asked() => match asked {
            Ok(()) => tracing::info!("asked to stop: finishing what is open"),
            Err(error) => tracing::error!(%error, "signals can't be received"),
        },
        () = stop.cancelled() => {}
    }
    stop.cancel();
}
