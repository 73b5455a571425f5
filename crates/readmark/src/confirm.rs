//! What changes something asks before, on a terminal; elsewhere it wants to be told.

use crate::exit::{Exit, Failure};
use std::io::{BufRead, IsTerminal, Write};

/// That somebody wants it; only asking makes one.
pub(crate) struct Confirmed(());

/// What an answer at a terminal came to.
pub(crate) enum Answer {
    /// Go on.
    Yes(Confirmed),
    /// Nothing is to be done.
    No(Exit),
}

/// Can somebody be asked?
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks, unless `yes` was said already. Where nobody can be asked, that is wrong usage.
pub(crate) fn confirm(question: &str, yes: bool) -> Result<Answer, Failure> {
    if yes {
        return Ok(Answer::Yes(Confirmed(())));
    }
    if !can_ask() {
        return Err(Failure::usage(format!(
            "{question} There is no terminal to ask on: say --yes, or --dry-run"
        )));
    }
    eprint!("{question} [y/N] ");
    let failed = |error: std::io::Error| Failure::failed(format!("the answer can't be read: {error}"));
    std::io::stderr().flush().map_err(failed)?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(failed)?;
    if matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
        return Ok(Answer::Yes(Confirmed(())));
    }
    eprintln!("nothing was done");
    Ok(Answer::No(Exit::Failed))
}
