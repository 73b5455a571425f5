use super::selection;
use crate::cli::{Act, Format};
use crate::command::inspect::lines;
use crate::command::repair::{Outcome, Repair, carry_out};
use crate::config::load;
use crate::exit::{Exit, Failure};
use crate::print;
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

impl Repair for ActRequest {
    type Step = Acted;
    type Finished = Finished;

    const PATH: &'static str = "/repair/dead-letters/act";

    async fn on(
        &self,
        ports: &Ports,
        on_step: &mut (dyn FnMut(&Acted) + Send),
        stop: &CancellationToken,
    ) -> Result<Finished, RepairError> {
        let Ended { acted, stopped, error } =
            act(ports, self.action, &self.selection, self.dry_run, on_step, stop).await?;
        Ok(Finished { acted, stopped, error: error.map(|error| error.to_string()) })
    }

    fn as_dry_run(&self) -> Self {
        Self { dry_run: true, ..self.clone() }
    }

    fn question(&self, counted: Option<&Finished>) -> String {
        let verb = match self.action {
            Action::Redrive => "Deliver again",
            Action::Drop => "Drop",
        };
        match counted {
            None => format!("{verb} these dead letters?"),
            Some(counted) => format!("{verb} {} dead letter(s)?", counted.acted.done),
        }
    }

    fn line(acted: &Acted) -> String {
        format!("{} done, {} left out", acted.done, acted.settled + acted.homeless)
    }

    fn failure(finished: &Finished) -> Option<&str> {
        finished.error.as_deref()
    }

    fn left(last: Option<Acted>) -> Result<Finished, Failure> {
        Ok(Finished { acted: last.unwrap_or_default(), stopped: true, error: None })
    }
}

/// `redrive` and `drop`.
pub(super) fn run(action: Action, arguments: &Act) -> Result<Exit, Failure> {
    let config = load(&arguments.output.source, &[])?;
    let what = ActRequest {
        action,
        selection: selection(&arguments.filters, SystemClock::default().now()),
        dry_run: arguments.consent.dry_run,
    };
    match carry_out(&what, arguments.consent, &arguments.output.source, &config)? {
        Outcome::Finished(finished) => {
            print_outcome(arguments, &what, &finished)?;
            Ok(outcome(&finished))
        }
        Outcome::Declined(exit) => Ok(exit),
    }
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
