use super::selection;
use crate::admin;
use crate::cli::{Act, Format};
use crate::command::inspect::lines;
use crate::command::runtime;
use crate::config::{Config, load};
use crate::confirm::{Answer, Confirmed, can_ask, confirm};
use crate::exit::{Exit, Failure};
use crate::print;
use crate::progress::Progress;
use crate::reach::{Reached, reach};
use crate::stop::cancel_when_asked;
use readmark_domain::dead_letter::LetterId;
use readmark_http::Decimal;
use readmark_repair::RepairError;
use readmark_repair::letters::{Acted, Action, Ended, Selection, act};
use readmark_runtime::clock::{Clock, SystemClock};
use readmark_runtime::ports::Ports;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

/// What is asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ActRequest {
    action: Action,
    selection: Selection,
    dry_run: bool,
}

/// How it ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Finished {
    acted: Acted,
    stopped: bool,
    error: Option<String>,
}

/// Does it on these ports.
pub(crate) async fn act_on(
    ports: &Ports,
    what: &ActRequest,
    on_progress: &mut (dyn FnMut(&Acted) + Send),
    stop: &CancellationToken,
) -> Result<Finished, RepairError> {
    let Ended { acted, stopped, error } =
        act(ports, what.action, &what.selection, what.dry_run, on_progress, stop).await?;
    Ok(Finished { acted, stopped, error: error.map(|error| error.to_string()) })
}

/// `redrive` and `drop`.
pub(super) fn run(action: Action, arguments: &Act) -> Result<Exit, Failure> {
    let config = load(&arguments.output.source, &[])?;
    let what = ActRequest {
        action,
        selection: selection(&arguments.filters, SystemClock::default().now()),
        dry_run: arguments.consent.dry_run,
    };
    runtime()?.block_on(async {
        let stop = CancellationToken::new();
        tokio::spawn(cancel_when_asked(stop.clone()));
        let confirmed = match what.dry_run {
            true => None,
            false => match ask(arguments, &config, &what, &stop).await? {
                Answer::Yes(confirmed) => Some(confirmed),
                Answer::No(exit) => return Ok(exit),
            },
        };
        let finished = carry_out(arguments, &config, &what, confirmed.as_ref(), &stop).await?;
        print_outcome(arguments, &what, &finished)?;
        Ok(outcome(&finished))
    })
}

const fn verb(action: Action) -> &'static str {
    match action {
        Action::Redrive => "Deliver again",
        Action::Drop => "Drop",
    }
}

/// Somebody at a terminal is told how many they are.
async fn ask(
    arguments: &Act,
    config: &Config,
    what: &ActRequest,
    stop: &CancellationToken,
) -> Result<Answer, Failure> {
    let verb = verb(what.action);
    if arguments.consent.yes || !can_ask() {
        return confirm(&format!("{verb} these dead letters?"), arguments.consent.yes);
    }
    let Finished { acted, error, .. } = carry_out(arguments, config, what, None, stop).await?;
    if let Some(error) = error {
        return Err(Failure::failed(error));
    }
    confirm(&format!("{verb} {} dead letter(s)?", acted.done), false)
}

/// Nothing but a dry run goes on without a confirmation.
async fn carry_out(
    arguments: &Act,
    config: &Config,
    what: &ActRequest,
    confirmed: Option<&Confirmed>,
    stop: &CancellationToken,
) -> Result<Finished, Failure> {
    let what = ActRequest { dry_run: what.dry_run || confirmed.is_none(), ..what.clone() };
    let mut progress = Progress::new();
    let mut last = None;
    let mut on_progress = |acted: &Acted| {
        progress.show(|| format!("{} done, {} left out", acted.done, acted.settled + acted.homeless));
        last = Some(acted.clone());
    };
    let finished = match reach(&arguments.output.source, config).await? {
        Reached::Running(socket) => {
            let mut on_line = |acted: Acted| on_progress(&acted);
            admin::follow(&socket, "/repair/dead-letters/act", &what, &mut on_line, stop).await?
        }
        Reached::Parts(parts) => {
            let finished = act_on(&parts.ports(), &what, &mut on_progress, stop).await;
            parts.close().await?;
            Some(finished.map_err(Failure::repair)?)
        }
    };
    progress.end();
    Ok(finished.unwrap_or_else(|| Finished { acted: last.unwrap_or_default(), stopped: true, error: None }))
}

/// The outcome, as it is printed.
#[derive(Debug, Serialize)]
struct ActedView {
    action: Action,
    dry_run: bool,
    complete: bool,
    /// Letters that were meant: delivered again or dropped, or would be.
    matched: Decimal,
    done: Decimal,
    settled: Decimal,
    homeless: Decimal,
    missing: Vec<LetterId>,
    error: Option<String>,
}

fn print_outcome(arguments: &Act, what: &ActRequest, finished: &Finished) -> Result<(), Failure> {
    let Finished { acted, stopped, error } = finished;
    match arguments.output.format {
        Format::Json => print::json(&ActedView {
            action: what.action,
            dry_run: what.dry_run,
            complete: !stopped && error.is_none(),
            matched: Decimal(acted.done),
            done: Decimal(if what.dry_run { 0 } else { acted.done }),
            settled: Decimal(acted.settled),
            homeless: Decimal(acted.homeless),
            missing: acted.missing.iter().copied().collect(),
            error: error.clone(),
        })?,
        Format::Table => {
            let done = match (what.action, what.dry_run) {
                (Action::Redrive, false) => "redelivered",
                (Action::Redrive, true) => "would be redelivered",
                (Action::Drop, false) => "dropped",
                (Action::Drop, true) => "would be dropped",
            };
            let rows = [
                (done, acted.done.to_string()),
                ("in another state", acted.settled.to_string()),
                ("from nowhere", acted.homeless.to_string()),
            ];
            print::text(&lines(&rows))?;
        }
    }
    if let Some(error) = error {
        eprintln!("readmark: {error}");
    }
    if *stopped {
        eprintln!("stopped; what is left is done when it is repeated");
    }
    if !acted.missing.is_empty() {
        let missing: Vec<String> = acted.missing.iter().map(LetterId::to_string).collect();
        eprintln!("not there: {}", missing.join(" "));
    }
    Ok(())
}

fn outcome(finished: &Finished) -> Exit {
    let Finished { acted, stopped, error } = finished;
    let all = !stopped && error.is_none() && acted.missing.is_empty() && acted.homeless == 0;
    match (all, acted.done) {
        (true, _) => Exit::Done,
        (false, 0) => Exit::Failed,
        (false, _) => Exit::InPart,
    }
}
