//! `readmark replay`: a stretch of a topic delivered again.

use super::runtime;
use crate::admin;
use crate::cli;
use crate::config::{Config, load};
use crate::confirm::{Answer, Confirmed, can_ask, confirm};
use crate::exit::{Exit, Failure};
use crate::print;
use crate::progress::Progress;
use crate::reach::{Reached, reach};
use crate::stop::cancel_when_asked;
use readmark_domain::time::TimeMs;
use readmark_http::Decimal;
use readmark_repair::replay::{Ended, Replay, Report, replay};
use readmark_repair::{Filter, Rate, RepairError, Stretch};
use readmark_runtime::clock::{Clock, SystemClock};
use readmark_runtime::ports::Ports;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tokio_util::sync::CancellationToken;

/// How it ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Finished {
    report: Report,
    error: Option<String>,
}

/// Runs it on these ports.
pub(crate) async fn replay_on(
    ports: &Ports,
    what: &Replay,
    on_progress: &mut (dyn FnMut(&Report) + Send),
    stop: &CancellationToken,
) -> Result<Finished, RepairError> {
    let Ended { report, error } = replay(ports, what, on_progress, stop).await?;
    Ok(Finished { report, error: error.map(|error| error.to_string()) })
}

/// Runs it.
pub(crate) fn run(arguments: &cli::Replay) -> Result<Exit, Failure> {
    let config = load(&arguments.output.source, &[])?;
    let what = asked(arguments, SystemClock::default().now())?;
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
        let finished = deliver(arguments, &config, &what, confirmed.as_ref(), &stop).await?;
        print_report(arguments, &finished)?;
        Ok(outcome(&finished))
    })
}

fn asked(arguments: &cli::Replay, now: TimeMs) -> Result<Replay, Failure> {
    let stretch = match arguments.from_time {
        Some(from) => Stretch::Time { from: from.at(now), to: arguments.to_time.map(|to| to.at(now)) },
        None => {
            let offsets: BTreeMap<u32, u64> = arguments.from_offset.iter().copied().collect();
            if offsets.len() < arguments.from_offset.len() {
                return Err(Failure::usage("--from-offset names a partition twice"));
            }
            Stretch::Offsets(offsets)
        }
    };
    Ok(Replay {
        topic: arguments.topic,
        stretch,
        filter: Filter { sender: arguments.sender, conversation: arguments.conversation.clone() },
        rate: Rate::new(arguments.rate).map_err(Failure::usage)?,
        dry_run: arguments.consent.dry_run,
    })
}

/// Somebody at a terminal is told how much it is.
async fn ask(
    arguments: &cli::Replay,
    config: &Config,
    what: &Replay,
    stop: &CancellationToken,
) -> Result<Answer, Failure> {
    let topic = what.topic;
    if arguments.consent.yes || !can_ask() {
        return confirm(&format!("Deliver that stretch of {topic} again?"), arguments.consent.yes);
    }
    let counted = Replay { dry_run: true, ..what.clone() };
    let Finished { report, error } = deliver(arguments, config, &counted, None, stop).await?;
    if let Some(error) = error {
        return Err(Failure::failed(error));
    }
    confirm(&format!("Deliver {} record(s) of {topic} again?", report.sent), false)
}

/// Nothing but a dry run goes on without a confirmation.
async fn deliver(
    arguments: &cli::Replay,
    config: &Config,
    what: &Replay,
    confirmed: Option<&Confirmed>,
    stop: &CancellationToken,
) -> Result<Finished, Failure> {
    let what = Replay { dry_run: what.dry_run || confirmed.is_none(), ..what.clone() };
    let mut progress = Progress::new();
    let mut last = None;
    let mut on_progress = |report: &Report| {
        progress.show(|| progress_line(report));
        last = Some(report.clone());
    };
    let finished = match reach(&arguments.output.source, config).await? {
        Reached::Running(socket) => {
            let mut on_line = |report: Report| on_progress(&report);
            admin::follow(&socket, "/repair/replay", &what, &mut on_line, stop).await?
        }
        Reached::Parts(parts) => {
            let finished = replay_on(&parts.ports(), &what, &mut on_progress, stop).await;
            parts.close().await?;
            Some(finished.map_err(Failure::repair)?)
        }
    };
    progress.end();
    let stopped = || last.map(|report| Finished { report, error: None });
    finished.or_else(stopped).ok_or_else(|| Failure::failed("stopped before it began"))
}

fn progress_line(report: &Report) -> String {
    let (done, total) = report.done_of_total();
    let verb = if report.dry_run { "to be sent" } else { "sent" };
    format!("{}: {done} of {total} records read, {} {verb}", report.topic, report.sent)
}

/// The report, as it is printed.
#[derive(Debug, Serialize)]
struct ReportView {
    topic: String,
    dry_run: bool,
    complete: bool,
    read: Decimal,
    /// What the filter matches and is no repeat: what is sent, or would be.
    matched: Decimal,
    sent: Decimal,
    filtered: Decimal,
    repeats: Decimal,
    unreadable: Decimal,
    partitions: Vec<PartitionView>,
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct PartitionView {
    partition: u32,
    first: Decimal,
    next: Decimal,
    end: Decimal,
}

fn print_report(arguments: &cli::Replay, finished: &Finished) -> Result<(), Failure> {
    let Finished { report, error } = finished;
    let sent = if report.dry_run { 0 } else { report.sent };
    match arguments.output.format {
        cli::Format::Json => print::json(&ReportView {
            topic: report.topic.to_string(),
            dry_run: report.dry_run,
            complete: report.is_complete(),
            read: Decimal(report.read),
            matched: Decimal(report.sent),
            sent: Decimal(sent),
            filtered: Decimal(report.filtered),
            repeats: Decimal(report.repeats),
            unreadable: Decimal(report.unreadable),
            partitions: report
                .partitions
                .iter()
                .map(|p| PartitionView {
                    partition: p.partition,
                    first: Decimal(p.first),
                    next: Decimal(p.next),
                    end: Decimal(p.end),
                })
                .collect(),
            error: error.clone(),
        })?,
        cli::Format::Table => {
            let rows = [
                ("topic", report.topic.to_string()),
                ("read", report.read.to_string()),
                (if report.dry_run { "would be sent" } else { "sent" }, report.sent.to_string()),
                ("filtered", report.filtered.to_string()),
                ("repeats", report.repeats.to_string()),
                ("unreadable", report.unreadable.to_string()),
            ];
            print::text(&super::inspect::lines(&rows))?;
        }
    }
    if let Some(error) = error {
        eprintln!("readmark: {error}");
    }
    if !report.is_complete() {
        let left = report.partitions.iter().filter(|p| p.next < p.end);
        let left: Vec<String> = left.map(|p| format!("{}:{}", p.partition, p.next)).collect();
        eprintln!("not complete; to go on: --from-offset {}", left.join(","));
    }
    Ok(())
}

fn outcome(finished: &Finished) -> Exit {
    match (finished.report.is_complete(), finished.report.read) {
        (true, _) => Exit::Done,
        (false, 0) => Exit::Failed,
        (false, _) => Exit::InPart,
    }
}
