//! What `replay` and `dead-letters redrive|drop` have in common: work that asks before, is done by the process that runs
//! or on the parts themselves, tells how far it is, and may be stopped.

use super::runtime;
use crate::admin;
use crate::cli::{Consent, Source};
use crate::config::Config;
use crate::confirm::{Answer, Confirmed, can_ask, confirm};
use crate::exit::{Exit, Failure};
use crate::progress::Progress;
use crate::reach::{Reached, reach};
use crate::stop::{StopSignals, cancel_when_asked};
use readmark_repair::RepairError;
use readmark_runtime::ports::Ports;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

/// Work of one kind, as it is asked for; it travels to the process that runs.
pub(crate) trait Repair: Clone + Serialize {
    /// How far it is.
    type Step: Clone + DeserializeOwned + Send;
    /// How it ended.
    type Finished: DeserializeOwned;

    /// The call of the running process that does it.
    const PATH: &'static str;

    /// Does it on these ports.
    fn on(
        &self,
        ports: &Ports,
        on_step: &mut (dyn FnMut(&Self::Step) + Send),
        stop: &CancellationToken,
    ) -> impl Future<Output = Result<Self::Finished, RepairError>> + Send;

    /// The same, only counted.
    fn as_dry_run(&self) -> Self;

    /// What somebody is asked; with the numbers of a dry run where there is one.
    fn question(&self, counted: Option<&Self::Finished>) -> String;

    /// A step, in a line.
    fn line(step: &Self::Step) -> String;

    /// Why it did not come to its end, if it failed on the way.
    fn failure(finished: &Self::Finished) -> Option<&str>;

    /// What is known when the process that did it was left: the last step.
    fn left(last: Option<Self::Step>) -> Result<Self::Finished, Failure>;
}

/// What became of it.
pub(super) enum Outcome<F> {
    /// It was begun.
    Finished(F),
    /// Somebody said no.
    Declined(Exit),
}

/// Asks, unless it is only counted, and does it.
pub(super) fn carry_out<R: Repair>(
    work: &R,
    consent: Consent,
    source: &Source,
    config: &Config,
) -> Result<Outcome<R::Finished>, Failure> {
    runtime()?.block_on(async {
        let stop = CancellationToken::new();
        let signals = StopSignals::hear().map_err(Failure::failed)?;
        tokio::spawn(cancel_when_asked(signals, stop.clone()));
        let site = Site { source, config, stop };
        if consent.dry_run {
            return site.count(work).await.map(Outcome::Finished);
        }
        match site.ask(work, consent.yes).await? {
            Answer::Yes(confirmed) => site.work(work, &confirmed).await.map(Outcome::Finished),
            Answer::No(exit) => Ok(Outcome::Declined(exit)),
        }
    })
}

/// Where it is done.
struct Site<'a> {
    source: &'a Source,
    config: &'a Config,
    stop: CancellationToken,
}

impl Site<'_> {
    /// Somebody at a terminal is told how much it is.
    async fn ask<R: Repair>(&self, work: &R, yes: bool) -> Result<Answer, Failure> {
        if yes || !can_ask() {
            return confirm(&work.question(None), yes);
        }
        let counted = self.count(work).await?;
        match R::failure(&counted) {
            Some(words) => Err(Failure::failed(words)),
            None => confirm(&work.question(Some(&counted)), false),
        }
    }

    /// Needs no consent.
    async fn count<R: Repair>(&self, work: &R) -> Result<R::Finished, Failure> {
        self.run(&work.as_dry_run()).await
    }

    async fn work<R: Repair>(&self, work: &R, _: &Confirmed) -> Result<R::Finished, Failure> {
        self.run(work).await
    }

    async fn run<R: Repair>(&self, work: &R) -> Result<R::Finished, Failure> {
        let mut progress = Progress::new();
        let mut last = None;
        let mut on_step = |step: &R::Step| {
            progress.show(|| R::line(step));
            last = Some(step.clone());
        };
        let finished = match reach(self.source, self.config).await? {
            Reached::Running(socket) => {
                let mut on_line = |step: R::Step| on_step(&step);
                admin::follow(&socket, R::PATH, work, &mut on_line, &self.stop).await?
            }
            Reached::Parts(parts) => {
                let finished = work.on(&parts.ports(), &mut on_step, &self.stop).await;
                parts.close().await?;
                Some(finished.map_err(Failure::repair)?)
            }
        };
        progress.end();
        finished.map_or_else(|| R::left(last), Ok)
    }
}
