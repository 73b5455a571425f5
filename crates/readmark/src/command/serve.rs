//! `readmark serve`: chosen roles in this process.

use crate::cli::Serve;
use crate::config::{HotKind, load};
use crate::exit::{Exit, Failure};
use crate::parts::is_embedded;
use crate::process;

/// Runs until a signal asks to stop, or a role can't go on.
pub(crate) fn run(serve: &Serve) -> Result<Exit, Failure> {
    let config = load(&serve.source, &serve.addresses.flags())?;
    if is_embedded(&config) && !serve.roles.is_all() {
        return Err(Failure::usage(
            "log.kind, store.kind: embedded parts belong to one process, which must have --roles all",
        ));
    }
    if config.hot.kind == HotKind::Memory && serve.roles.needs_hot() && !serve.roles.is_all() {
        return Err(Failure::usage(
            "hot.kind: a hot state in memory belongs to one process, which must have --roles all; set it to redis",
        ));
    }
    process::run(&config, &serve.roles, false)
}
