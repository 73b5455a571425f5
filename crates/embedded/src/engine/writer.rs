use super::file::{Opener, Shared};
use super::{COMMIT_JOBS_MAX, Message, Queued, RELAXED_FOR};
use crate::error::{EngineErrorKind, Failure, OpenError};
use redb::{Database, Durability, TableDefinition, WriteTransaction};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Wait after the first failure, and after every further one twice as long, up to the second.
const FIRST_BACKOFF: Duration = Duration::from_millis(50);
/// Opening again reads the file, so it must not be tried without pause; 2 s is soon enough for a person who
/// has just made space.
const LONGEST_BACKOFF: Duration = Duration::from_secs(2);

/// Where the writer tries whether writing works again.
const TRIAL: TableDefinition<'static, u8, &'static [u8]> = TableDefinition::new("engine_trial");
/// More than a page: the trial has to find space for real.
const TRIAL_BYTES: usize = 8 * 1024;

/// Commits in a row that are not durable by themselves: their pages can't be used again until one is.
const RELAXED_COMMITS_MAX: u32 = 64;

/// The thread that owns writing.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    opener: Opener,
    receiver: Receiver<Message>,
    trouble: Option<Trouble>,
    relaxed: Option<Relaxed>,
}

/// Commits that are not durable yet.
struct Relaxed {
    commits: u32,
    /// When they must be.
    sync_at: Instant,
}

/// Since a write has failed.
struct Trouble {
    failure: Failure,
    backoff: Duration,
    try_at: Instant,
}

impl Writer {
    pub const fn new(shared: Arc<Shared>, opener: Opener, receiver: Receiver<Message>) -> Self {
        Self { shared, opener, receiver, trouble: None, relaxed: None }
    }

    /// Works until it is told to close or nobody is left who could tell.
    pub fn run(mut self) -> Result<(), Failure> {
        let mut put_off = None;
        loop {
            match put_off.take().or_else(|| self.wait()) {
                Some(Message::Job(job)) => put_off = self.work_off(job),
                Some(Message::Check) if self.trouble.is_none() => self.try_writing(),
                Some(Message::Check) => {}
                Some(Message::Close) => break,
                None if self.trouble.is_some() => self.try_writing(),
                None => self.sync(),
            }
        }
        self.sync();
        self.shared.closed.store(true, Ordering::Release);
        match self.shared.replace(None) {
            Some(database) => database.close().map_err(|error| Failure::of(error.into())),
            None => Ok(()),
        }
    }

    /// The next message; `None` when it is time to try writing again, or to make durable what is not.
    fn wait(&self) -> Option<Message> {
        let trial = self.trouble.as_ref().map(|trouble| trouble.try_at);
        let Some(until) = trial.or_else(|| self.relaxed.as_ref().map(|relaxed| relaxed.sync_at)) else {
            return Some(self.receiver.recv().unwrap_or(Message::Close));
        };
        match self.receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Message::Close),
        }
    }

    /// Makes durable what is not.
    fn sync(&mut self) {
        if self.relaxed.is_some()
            && let Err(failure) = self.in_transaction(Durability::Immediate, |_| Ok(()))
        {
            self.open_again(failure);
        }
    }

    /// Commits a job with those that wait behind it; gives back what is no job.
    fn work_off(&mut self, first: Queued) -> Option<Message> {
        if let Some(trouble) = &self.trouble {
            // Jobs are answered at once while writing fails: a queue would only make them late.
            first.job.finish(Err(trouble.failure.clone()));
            return None;
        }
        let mut jobs = vec![first];
        let mut other = None;
        while jobs.len() < COMMIT_JOBS_MAX {
            match self.receiver.try_recv() {
                Ok(Message::Job(job)) => jobs.push(job),
                Ok(message) => {
                    other = Some(message);
                    break;
                }
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        self.commit(jobs);
        other
    }

    fn commit(&mut self, mut jobs: Vec<Queued>) {
        let outcome = self.attempt(&mut jobs);
        match outcome {
            Err(failure) if jobs.len() > 1 && failure.kind != EngineErrorKind::Unavailable => {
                // One of them is at fault: each by itself, so that the others are not harmed.
                if failure.spoils_handle {
                    self.replace_handle();
                }
                for job in jobs {
                    self.commit_alone(job);
                }
            }
            outcome => self.finish(jobs, outcome),
        }
    }

    fn commit_alone(&mut self, job: Queued) {
        if let Some(trouble) = &self.trouble {
            job.job.finish(Err(trouble.failure.clone()));
            return;
        }
        let mut jobs = vec![job];
        let outcome = self.attempt(&mut jobs);
        self.finish(jobs, outcome);
    }

    fn finish(&mut self, jobs: Vec<Queued>, outcome: Result<(), Failure>) {
        if let Err(failure) = &outcome
            && failure.spoils_handle
        {
            self.open_again(failure.clone());
        }
        if outcome.is_ok() {
            self.shared.counts.jobs.fetch_add(jobs.len() as u64, Ordering::Relaxed);
            self.shared.counts.commits.fetch_add(1, Ordering::Relaxed);
        }
        for queued in jobs {
            queued.job.finish(outcome.clone());
        }
    }

    /// Runs the jobs in one transaction and commits it; else nothing of them is written.
    fn attempt(&mut self, jobs: &mut [Queued]) -> Result<(), Failure> {
        let commits = self.relaxed.as_ref().map_or(0, |relaxed| relaxed.commits);
        let may_relax = commits < RELAXED_COMMITS_MAX && jobs.iter().all(|queued| queued.is_relaxed);
        let durability = if may_relax { Durability::None } else { Durability::Immediate };
        self.in_transaction(durability, |txn| {
            jobs.iter_mut().try_for_each(|queued| queued.job.run(txn).map_err(Failure::of_job))
        })
    }

    fn in_transaction(
        &mut self,
        durability: Durability,
        work: impl FnOnce(&WriteTransaction) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let database = self.shared.database.read().unwrap_or_else(PoisonError::into_inner);
        let Some(database) = database.as_ref() else { return Err(self.shared.away()) };
        // redb panics on some damaged pages; the writer must outlive that.
        let outcome = catch_unwind(AssertUnwindSafe(|| transact(database, durability, work)))
            .unwrap_or_else(|payload| Err(Failure::of_panic(&*payload)));
        if outcome.is_ok() {
            // A durable commit carries every one before it.
            let relaxed = matches!(durability, Durability::None).then(|| Relaxed {
                commits: self.relaxed.as_ref().map_or(0, |relaxed| relaxed.commits) + 1,
                sync_at: self.relaxed.as_ref().map_or_else(|| Instant::now() + RELAXED_FOR, |r| r.sync_at),
            });
            self.relaxed = relaxed;
        }
        outcome
    }

    /// Tries to write, after a failure or when a reader has met one.
    fn try_writing(&mut self) {
        let is_open = self.shared.database.read().unwrap_or_else(PoisonError::into_inner).is_some();
        let opened = if is_open { Ok(()) } else { self.open() };
        let outcome = opened.and_then(|()| {
            self.in_transaction(Durability::Immediate, |txn| {
                let mut table = txn.open_table(TRIAL).map_err(|error| Failure::of(error.into()))?;
                table.insert(0, [0_u8; TRIAL_BYTES].as_slice()).map_err(|error| Failure::of(error.into()))?;
                Ok(())
            })
        });
        match outcome {
            Ok(()) => {
                if self.trouble.take().is_some() {
                    tracing::info!(path = %self.shared.path.display(), "writing works again");
                }
                self.shared.set_write_failure(None);
            }
            Err(failure) => self.open_again(failure),
        }
    }

    /// Drops the spoilt handle and opens the file again, so that reads go on; writing waits for a trial.
    fn open_again(&mut self, failure: Failure) {
        let backoff =
            self.trouble.as_ref().map_or(FIRST_BACKOFF, |last| (last.backoff * 2).min(LONGEST_BACKOFF));
        if self.trouble.is_none() {
            tracing::warn!(path = %self.shared.path.display(), detail = %failure.detail, "writing fails");
        }
        let failure = Failure::unavailable(format!("writing fails since: {}", failure.detail));
        self.shared.set_write_failure(Some(failure.clone()));
        self.replace_handle();
        self.trouble = Some(Trouble { failure, backoff, try_at: Instant::now() + backoff });
    }

    fn replace_handle(&mut self) {
        // What was not durable is lost with the handle.
        self.relaxed = None;
        drop(self.shared.replace(None));
        if let Err(failure) = self.open() {
            tracing::debug!(path = %self.shared.path.display(), detail = %failure.detail, "can't open it yet");
        }
    }

    fn open(&self) -> Result<(), Failure> {
        let database = catch_unwind(AssertUnwindSafe(|| self.opener.open()))
            .map_err(|payload| Failure::of_panic(&*payload))?
            .map_err(|error: OpenError| Failure::unavailable(error.to_string()))?;
        self.shared.counts.reopened.fetch_add(1, Ordering::Relaxed);
        drop(self.shared.replace(Some(database)));
        Ok(())
    }
}

fn transact(
    database: &Database,
    durability: Durability,
    work: impl FnOnce(&WriteTransaction) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut txn = database.begin_write().map_err(|error| Failure::of(error.into()))?;
    txn.set_durability(durability).map_err(|error| Failure::of(error.into()))?;
    match work(&txn) {
        Ok(()) => txn.commit().map_err(|error| Failure::of(error.into())),
        // On a spoilt handle aborting fails, too; the first failure says why.
        Err(failure) if failure.spoils_handle => Err(failure),
        Err(failure) => {
            txn.abort().map_err(|error| Failure::of(error.into()))?;
            Err(failure)
        }
    }
}
