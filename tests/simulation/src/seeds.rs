//! Many seeds, on all cores.

use crate::mutation::Mutation;
use crate::run::{Options, Outcome, run};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// What came of many seeds.
#[derive(Debug, Default)]
pub struct Report {
    /// Seeds run.
    pub seeds: u64,
    /// Seeds with faults, ascending, with what was found.
    pub faults: Vec<(u64, Vec<String>)>,
    /// Steps in all.
    pub steps: u64,
    /// message_read records told in all.
    pub message_reads: u64,
    /// Members crashed, stopped or cut off in all.
    pub crashes: u64,
    /// How long it took.
    pub seconds: f64,
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { seeds, steps, message_reads, crashes, seconds, .. } = self;
        let rate = *seeds as f64 / seconds.max(0.001);
        write!(
            f,
            "{seeds} seeds, {} with faults, {rate:.0} seeds/s; {steps} steps, {crashes} crashes and losses, \
             {message_reads} message_read",
            self.faults.len()
        )
    }
}

/// Runs seeds `first .. first + count`; stops early at `enough` faults.
#[must_use]
pub fn run_seeds(first: u64, count: u64, mutation: Option<Mutation>, enough: usize) -> Report {
    let start = Instant::now();
    let next = AtomicU64::new(first);
    let report = Mutex::new(Report::default());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let full = report.lock().unwrap_or_else(PoisonError::into_inner).faults.len() >= enough;
                    if seed >= first + count || full {
                        return;
                    }
                    let Outcome { violations, steps, message_reads, crashes, .. } =
                        run(Options { seed, mutation, traced: false });
                    let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
                    report.seeds += 1;
                    report.steps += steps;
                    report.message_reads += message_reads;
                    report.crashes += crashes;
                    if !violations.is_empty() {
                        report.faults.push((seed, violations));
                    }
                }
            });
        }
    });
    let mut report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
    report.faults.sort_unstable_by_key(|(seed, _)| *seed);
    report.seconds = start.elapsed().as_secs_f64();
    report
}

/// Writes the full trace of a seed to a file and gives back its path.
///
/// # Errors
/// When the file can't be written.
pub fn write_trace(seed: u64, mutation: Option<Mutation>) -> std::io::Result<std::path::PathBuf> {
    let outcome = run(Options { seed, mutation, traced: true });
    let path = std::env::temp_dir().join(format!("readmark-simulation-{seed}.txt"));
    let mut text = outcome.trace.join("\n");
    text.push_str("\n\n");
    text.push_str(&outcome.violations.join("\n"));
    text.push('\n');
    std::fs::write(&path, text)?;
    Ok(path)
}
