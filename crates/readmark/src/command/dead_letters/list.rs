use super::selection;
use super::view::LettersView;
use crate::admin;
use crate::cli::{Format, List};
use crate::command::runtime;
use crate::config::{Config, load};
use crate::exit::{Exit, Failure};
use crate::print;
use crate::reach::{Reached, reach};
use readmark_domain::dead_letter::LetterId;
use readmark_repair::RepairError;
use readmark_repair::letters::{Selection, list};
use readmark_runtime::clock::{Clock, SystemClock};
use readmark_runtime::ports::Ports;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Which are asked for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ListRequest {
    selection: Selection,
    limit: usize,
    /// With their records.
    whole: bool,
}

/// Lists them from these ports.
pub(crate) async fn list_on(ports: &Ports, what: &ListRequest) -> Result<LettersView, RepairError> {
    Ok(LettersView::of(list(ports, &what.selection, what.limit).await?, what.whole))
}

/// `list` and `show`.
pub(super) fn run(arguments: &List, whole: bool) -> Result<Exit, Failure> {
    let config = load(&arguments.output.source, &[])?;
    let what = ListRequest {
        selection: selection(&arguments.filters, SystemClock::default().now()),
        limit: usize::try_from(arguments.limit).unwrap_or(usize::MAX),
        whole,
    };
    let view = runtime()?.block_on(ask(arguments, &config, &what))?;
    match (arguments.output.format, whole) {
        (Format::Json, _) => print::json(&view)?,
        (Format::Table, false) => print::text(&view.list_table())?,
        (Format::Table, true) => print::text(&view.show_table())?,
    }
    let found: BTreeSet<LetterId> = view.dead_letters.iter().map(|letter| letter.letter).collect();
    let missing: Vec<String> = what.selection.ids.difference(&found).map(LetterId::to_string).collect();
    match (view.more, missing.is_empty()) {
        (true, _) => eprintln!("{} dead letters, and there are more: --limit, or filters", found.len()),
        (false, true) => eprintln!("{} dead letter(s)", found.len()),
        (false, false) => {
            eprintln!("{} dead letter(s); not there, or not matching: {}", found.len(), missing.join(" "))
        }
    }
    Ok(match (missing.is_empty() || view.more, found.is_empty()) {
        (true, _) => Exit::Done,
        (false, true) => Exit::Failed,
        (false, false) => Exit::InPart,
    })
}

async fn ask(arguments: &List, config: &Config, what: &ListRequest) -> Result<LettersView, Failure> {
    match reach(&arguments.output.source, config).await? {
        Reached::Running(socket) => {
            let answer = admin::post(&socket, "/repair/dead-letters/list", what).await?;
            serde_json::from_slice(&answer).map_err(Failure::failed)
        }
        Reached::Parts(parts) => {
            let view = list_on(&parts.ports(), what).await;
            parts.close().await?;
            view.map_err(Failure::repair)
        }
    }
}
