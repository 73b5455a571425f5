//! A stretch of a topic delivered again.

use crate::error::RepairError;
use crate::extent::{Extent, Stretch, extents};
use crate::filter::Filter;
use crate::named::named;
use crate::pace::{Pace, Rate};
use crate::source::Source;
use readmark_events::{RedeliveredBy, RedeliveryHeaders, Topic, original_headers};
use readmark_log::{NewRecord, Offset, Partition, Record, TopicPartition};
use readmark_runtime::ports::Ports;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tokio_util::sync::CancellationToken;

/// What is to be delivered again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replay {
    /// The topic; not the dead letters, which [`crate::letters`] delivers to where they come from.
    pub topic: Topic,
    /// Which stretch of it.
    pub stretch: Stretch,
    /// Which facts of it.
    pub filter: Filter,
    /// How fast.
    pub rate: Rate,
    /// Only count?
    pub dry_run: bool,
}

/// How far a partition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionProgress {
    /// Which.
    pub partition: Partition,
    /// The first offset of the stretch.
    pub first: Offset,
    /// The first offset that is not done with.
    pub next: Offset,
    /// The first offset that is not part of the stretch.
    pub end: Offset,
}

/// What a replay has done so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The topic.
    pub topic: Topic,
    /// Was it only counted?
    pub dry_run: bool,
    /// Records read.
    pub read: u64,
    /// Records delivered again; with `dry_run`, those that would be.
    pub sent: u64,
    /// Records left out because the filter does not match them.
    pub filtered: u64,
    /// Records left out because they repeat another one of the stretch.
    pub repeats: u64,
    /// Records left out because they are no facts; they are among the dead letters.
    pub unreadable: u64,
    /// How far each partition is.
    pub partitions: Vec<PartitionProgress>,
}

impl Report {
    /// Was everything of the stretch looked at?
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.partitions.iter().all(|partition| partition.next >= partition.end)
    }

    /// Records of the stretch, and how many of them are done with.
    #[must_use]
    pub fn done_of_total(&self) -> (u64, u64) {
        let sum = |size: fn(&PartitionProgress) -> u64| self.partitions.iter().map(size).sum();
        (sum(|p| p.next - p.first), sum(|p| p.end - p.first))
    }
}

/// How a replay ended: stopped ones and failed ones may be repeated, or gone on with from where they were.
#[derive(Debug)]
pub struct Ended {
    /// What was done.
    pub report: Report,
    /// Why it could not go on.
    pub error: Option<RepairError>,
}

/// Delivers a stretch of a topic again, some of each partition in turn, until its end or until `stop`. Tells
/// `on_progress` after every batch.
///
/// # Errors
/// When it can't begin; see [`Ended`] for what happens later.
pub async fn replay(
    ports: &Ports,
    what: &Replay,
    on_progress: &mut (dyn FnMut(&Report) + Send),
    stop: &CancellationToken,
) -> Result<Ended, RepairError> {
    if what.topic == Topic::DeadLetters {
        let words = "dead letters go back to where they come from: `readmark dead-letters redrive`";
        return Err(RepairError::usage(words));
    }
    what.filter.check(what.topic)?;
    let source = Source::new(ports);
    let extents = extents(&source, what.topic, &what.stretch).await?;
    let partitions = extents.iter().map(|(partition, Extent { first, end })| PartitionProgress {
        partition: *partition,
        first: *first,
        next: *first,
        end: *end,
    });
    let report = Report {
        topic: what.topic,
        dry_run: what.dry_run,
        read: 0,
        sent: 0,
        filtered: 0,
        repeats: 0,
        unreadable: 0,
        partitions: partitions.collect(),
    };
    let pace = Pace::new(ports.clock.clone(), what.rate);
    let mut running = Running { source, what, extents, report, pace, on_progress, stop };
    let error = running.run().await.err();
    Ok(Ended { report: running.report, error })
}

struct Running<'a> {
    source: Source,
    what: &'a Replay,
    extents: BTreeMap<Partition, Extent>,
    report: Report,
    pace: Pace,
    on_progress: &'a mut (dyn FnMut(&Report) + Send),
    stop: &'a CancellationToken,
}

/// What becomes of a record.
enum Fate {
    Send(NewRecord),
    Filtered,
    Repeat,
    Unreadable,
}

impl Running<'_> {
    async fn run(&mut self) -> Result<(), RepairError> {
        (self.on_progress)(&self.report);
        while !self.report.is_complete() && !self.stop.is_cancelled() {
            for index in 0..self.report.partitions.len() {
                self.page_of(index).await?;
                if self.stop.is_cancelled() {
                    break;
                }
            }
        }
        Ok(())
    }

    async fn page_of(&mut self, index: usize) -> Result<(), RepairError> {
        let Some(PartitionProgress { partition, next, end, .. }) = self.report.partitions.get(index).copied()
        else {
            return Ok(());
        };
        let at = TopicPartition { topic: self.what.topic, partition };
        let read = self.source.page(at, next, end);
        let Some(page) = self.stop.run_until_cancelled(read).await else { return Ok(()) };
        let page = page?;
        if page.is_empty() {
            // What lies behind is no record: an end of a transaction, or retention took it meanwhile.
            self.advance(index, end);
            return Ok(());
        }
        let at_end = page.last().is_some_and(|record| record.position.offset + 1 >= end);
        for batch in page.chunks(self.what.rate.batch()) {
            if !self.send_batch(batch).await? {
                return Ok(());
            }
            if let Some(last) = batch.last() {
                self.advance(index, last.position.offset + 1);
            }
        }
        if at_end {
            self.advance(index, end);
        }
        Ok(())
    }

    fn advance(&mut self, index: usize, next: Offset) {
        if let Some(partition) = self.report.partitions.get_mut(index) {
            partition.next = partition.next.max(next);
        }
        (self.on_progress)(&self.report);
    }

    /// `false` when it was stopped; then nothing of the batch counts as done.
    async fn send_batch(&mut self, batch: &[Record]) -> Result<bool, RepairError> {
        let (mut filtered, mut repeats, mut unreadable) = (0, 0, 0);
        let mut records = Vec::new();
        for record in batch {
            match self.fate(record) {
                Fate::Send(record) => records.push(record),
                Fate::Filtered => filtered += 1,
                Fate::Repeat => repeats += 1,
                Fate::Unreadable => unreadable += 1,
            }
        }
        if !self.what.dry_run && !records.is_empty() {
            if !self.pace.wait(records.len(), self.stop).await {
                return Ok(false);
            }
            let appended = self.stop.run_until_cancelled(self.source.append(&records)).await;
            let Some(appended) = appended else { return Ok(false) };
            appended?;
        }
        self.report.read += batch.len() as u64;
        self.report.sent += records.len() as u64;
        self.report.filtered += filtered;
        self.report.repeats += repeats;
        self.report.unreadable += unreadable;
        Ok(true)
    }

    fn fate(&self, record: &Record) -> Fate {
        let Ok(Some(named)) = named(record) else { return Fate::Unreadable };
        let known = RedeliveryHeaders::from_headers(&record.headers);
        if !self.what.filter.matches(&named) {
            return Fate::Filtered;
        }
        let source = known.map_or_else(|| record.position.into(), |known| known.source);
        let is_own = source == record.position.into();
        let is_sent_itself = source.topic == self.what.topic
            && self.extents.get(&source.partition).is_some_and(|extent| extent.contains(source.offset));
        // Else every replay would deliver what the ones before it delivered, and double the topic.
        if !is_own && is_sent_itself {
            return Fate::Repeat;
        }
        let redelivery = RedeliveryHeaders { origin: RedeliveredBy::Replay, source, failure: None };
        let mut headers = original_headers(&record.headers);
        headers.extend(redelivery.to_headers());
        Fate::Send(NewRecord {
            topic: self.what.topic,
            // A fact is read under its key, so it has one.
            key: record.key.clone().unwrap_or_default(),
            payload: record.payload.clone(),
            headers,
        })
    }
}
