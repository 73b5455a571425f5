//! `readmark up`: every role in one process, on embedded parts.

use crate::cli::Up;
use crate::config::load;
use crate::exit::{Exit, Failure};
use crate::process;
use crate::role_name::RoleSet;

/// Runs until a signal asks to stop, or a role can't go on.
pub(crate) fn run(up: &Up) -> Result<Exit, Failure> {
    let mut flags = up.addresses.flags();
    // What is configured for a cluster does not turn it into something else.
    flags.extend([
        ("log.kind", "embedded".to_owned()),
        ("store.kind", "embedded".to_owned()),
        ("hot.kind", "memory".to_owned()),
    ]);
    let config = load(&up.source, &flags)?;
    // Who can reach another address may be anybody.
    let with_demo = config.demo.enabled && config.listen.ip().is_loopback();
    process::run(&config, &RoleSet::all(), with_demo)
}
