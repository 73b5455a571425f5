//! `readmark dead-letters`: listed, shown, delivered again, dropped.

mod act;
mod list;
mod view;

pub(crate) use act::ActRequest;
pub(crate) use list::{ListRequest, list_on};
pub(crate) use view::LettersView;

use crate::cli::{DeadLetters, Filters};
use crate::exit::{Exit, Failure};
use readmark_domain::time::TimeMs;
use readmark_repair::letters::{Action, Selection};

/// Runs it.
pub(crate) fn run(command: &DeadLetters) -> Result<Exit, Failure> {
    match command {
        DeadLetters::List(arguments) => list::run(arguments, false),
        DeadLetters::Show(arguments) => list::run(arguments, true),
        DeadLetters::Redrive(arguments) => act::run(Action::Redrive, arguments),
        DeadLetters::Drop(arguments) => act::run(Action::Drop, arguments),
    }
}

fn selection(filters: &Filters, now: TimeMs) -> Selection {
    Selection {
        ids: filters.letters.iter().copied().collect(),
        reasons: filters.reason.iter().cloned().collect(),
        source_topic: filters.source_topic,
        since: filters.since.map(|since| since.at(now)),
        states: filters.state.iter().copied().collect(),
    }
}
