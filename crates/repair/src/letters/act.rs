//! Delivering dead letters again, or dropping them.

use super::scan::{Scan, Seen};
use super::selection::Selection;
use crate::error::RepairError;
use crate::pace::{Pace, Rate};
use crate::source::Source;
use readmark_domain::dead_letter::{Actor, LetterId, Outcome, Resolution};
use readmark_events::RedeliveredBy;
use readmark_log::NewRecord;
use readmark_runtime::ports::Ports;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use tokio_util::sync::CancellationToken;

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Deliver them again.
    Redrive,
    /// Leave them alone from now on.
    Drop,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Acted {
    /// Letters delivered again, or dropped; with a dry run, those that would be.
    pub done: u64,
    /// Letters left out because of their state.
    pub settled: u64,
    /// Letters that can't be delivered again because nobody knows where they come from.
    pub homeless: u64,
    /// Letters asked for by name that are not there.
    pub missing: BTreeSet<LetterId>,
}

/// How it ended: what was stopped or failed may be repeated.
#[derive(Debug)]
pub struct Ended {
    /// What was done.
    pub acted: Acted,
    /// Was it stopped?
    pub stopped: bool,
    /// Why it could not go on.
    pub error: Option<RepairError>,
}

/// Delivers the dead letters that match again, or drops them: those that are open or buried, unless the selection
/// names other states. Tells `on_progress` after every batch. With `dry_run` they are only counted.
///
/// A letter is delivered first and then noted as delivered: whoever is cut off in between delivers it twice, which
/// is harmless.
///
/// # Errors
/// When it can't begin; see [`Ended`] for what happens later.
pub async fn act(
    ports: &Ports,
    action: Action,
    selection: &Selection,
    dry_run: bool,
    on_progress: &mut (dyn FnMut(&Acted) + Send),
    stop: &CancellationToken,
) -> Result<Ended, RepairError> {
    let source = Source::new(ports);
    let mut scan = Scan::begin(&source, selection).await?;
    let rate = Rate::default();
    let mut running = Running {
        source: &source,
        action,
        dry_run,
        rate,
        pace: Pace::new(ports.clock.clone(), rate),
        acted: Acted { missing: selection.ids.clone(), ..Acted::default() },
        stop,
    };
    let error = running.run(&mut scan, selection, on_progress).await.err();
    let stopped = stop.is_cancelled();
    let mut acted = running.acted;
    // Of what was not looked at, nothing is known.
    if stopped || error.is_some() {
        acted.missing.clear();
    }
    Ok(Ended { acted, stopped, error })
}

struct Running<'a> {
    source: &'a Source,
    action: Action,
    dry_run: bool,
    rate: Rate,
    pace: Pace,
    acted: Acted,
    stop: &'a CancellationToken,
}

impl Running<'_> {
    async fn run(
        &mut self,
        scan: &mut Scan<'_>,
        selection: &Selection,
        on_progress: &mut (dyn FnMut(&Acted) + Send),
    ) -> Result<(), RepairError> {
        loop {
            let Some(page) = self.stop.run_until_cancelled(scan.next_page()).await else { return Ok(()) };
            let Some(page) = page? else { return Ok(()) };
            let mut meant = Vec::new();
            for seen in page {
                self.acted.missing.remove(&seen.letter.id());
                let state = seen.state();
                let is_meant = match selection.states.is_empty() {
                    true => state.is_unsettled(),
                    false => selection.states.contains(&state),
                };
                if is_meant {
                    meant.push(seen);
                } else {
                    self.acted.settled += 1;
                }
            }
            for batch in meant.chunks(self.rate.batch()) {
                if !self.batch(batch).await? {
                    return Ok(());
                }
                on_progress(&self.acted);
            }
        }
    }

    /// `false` when it was stopped; then nothing of the batch counts as done.
    async fn batch(&mut self, batch: &[Seen]) -> Result<bool, RepairError> {
        let mut records: Vec<NewRecord> = Vec::new();
        let mut done = Vec::new();
        let mut homeless = 0;
        for seen in batch {
            match (self.action, seen.letter.redelivery(RedeliveredBy::Redrive)) {
                (Action::Redrive, Some(record)) => {
                    records.push(record);
                    done.push(seen);
                }
                (Action::Redrive, None) => homeless += 1,
                (Action::Drop, _) => done.push(seen),
            }
        }
        if !self.dry_run && !done.is_empty() {
            if !records.is_empty() && !self.pace.wait(records.len(), self.stop).await {
                return Ok(false);
            }
            let noted = self.deliver_and_note(&records, &done);
            let Some(noted) = self.stop.run_until_cancelled(noted).await else { return Ok(false) };
            noted?;
        }
        self.acted.done += done.len() as u64;
        self.acted.homeless += homeless;
        Ok(true)
    }

    async fn deliver_and_note(&self, records: &[NewRecord], done: &[&Seen]) -> Result<(), RepairError> {
        if !records.is_empty() {
            self.source.append(records).await?;
        }
        let outcome = match self.action {
            Action::Redrive => Outcome::Redelivered,
            Action::Drop => Outcome::Dropped,
        };
        let now = self.source.ports.clock.now();
        let resolutions = done.iter().map(|seen| {
            let failed_at = seen.letter.failed_at();
            let resolution = Resolution::after(seen.resolution, failed_at, now, outcome, Actor::Operator);
            (seen.letter.id(), resolution)
        });
        let resolutions: Vec<_> = resolutions.collect();
        let store = &self.source.ports.store;
        Ok(self.source.retrier.run(|| store.resolve_dead_letters(&resolutions)).await?)
    }
}
