//! Log lines: for people on a terminal, JSON elsewhere; to stderr, since stdout is for data.

use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Checks a filter without starting anything.
///
/// # Errors
/// When it can't be read.
pub fn check(filter: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    EnvFilter::try_new(filter)?;
    Ok(())
}

/// Starts logging; `filter` chooses what, as in `info` or `warn,readmark_aggregator=debug`.
///
/// # Errors
/// When logging was started before, or the filter can't be read.
pub fn start(filter: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let filter = EnvFilter::try_new(filter)?;
    // A line that can't be written is lost. Saying so on stderr, as is the default, panics when nobody reads that any more,
    // and ends whatever task had something to say.
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .log_internal_errors(false);
    if std::io::stderr().is_terminal() {
        builder.with_target(false).try_init()
    } else {
        builder.json().flatten_event(true).try_init()
    }
}
