//! `readmark replay`: a stretch of a topic delivered again.

use super::repair::{Outcome, Repair, carry_out};
use crate::cli;
use crate::config::load;
use crate::exit::{Exit, Failure};
use crate::print;
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

impl Repair for Replay {
    type Step = Report;
    type Finished = Finished;

    const PATH: &'static str = "/repair/replay";

    async fn on(
        &self,
        ports: &Ports,
        on_step: &mut (dyn FnMut(&Report) + Send),
        stop: &CancellationToken,
    ) -> Result<Finished, RepairError> {
        let Ended { report, error } = replay(ports, self, on_step, stop).await?;
        Ok(Finished { report, error: error.map(|error| error.to_string()) })
    }

    fn as_dry_run(&self) -> Self {
        Self { dry_run: true, ..self.clone() }
    }

    fn question(&self, counted: Option<&Finished>) -> String {
        let topic = self.topic;
        match counted {
            None => format!("Deliver that stretch of {topic} again?"),
            Some(counted) => format!("Deliver {} record(s) of {topic} again?", counted.report.sent),
        }
    }

    fn line(report: &Report) -> String {
        let (done, total) = report.done_of_total();
        let verb = if report.dry_run { "to be sent" } else { "sent" };
        format!("{}: {done} of {total} records read, {} {verb}", report.topic, report.sent)
    }

    fn failure(finished: &Finished) -> Option<&str> {
        finished.error.as_deref()
    }

    fn left(last: Option<Report>) -> Result<Finished, Failure> {
        let last = last.ok_or_else(|| Failure::failed("stopped before it began"))?;
        Ok(Finished { report: last, error: None })
    }
}

/// Runs it.
pub(crate) fn run(arguments: &cli::Replay) -> Result<Exit, Failure> {
    let config = load(&arguments.output.source, &[])?;
    let what = asked(arguments, SystemClock::default().now())?;
    match carry_out(&what, arguments.consent, &arguments.output.source, &config)? {
        Outcome::Finished(finished) => {
            print_report(arguments, &finished)?;
            Ok(outcome(&finished))
        }
        Outcome::Declined(exit) => Ok(exit),
    }
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
