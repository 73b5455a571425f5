//! Data for stdout.

use crate::exit::Failure;
use serde::Serialize;
use std::io::{ErrorKind, Write};

/// Prints it. Who reads may stop early, as `head` does: that is no failure.
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("stdout can't be written: {error}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Prints one JSON document.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let document = serde_json::to_string_pretty(value).map_err(Failure::failed)?;
    text(&format!("{document}\n"))
}
