//! Records that wait for something that is on its way: a message that is not there yet, a head not raised.

use readmark_log::{Position, TopicPartition};
use std::collections::{BTreeMap, BTreeSet};

/// How long a record waits before it becomes a dead letter. An IM's own outbox is rarely later.
pub const PARKED_AT_MOST_MS: u64 = 30_000;
/// Records parked per partition before it pauses: enough for a burst that overtakes its messages, and each
/// is looked up again at every check.
const FULL_AT_RECORDS: usize = 1_000;
/// Bytes parked in all partitions before they pause.
const FULL_AT_BYTES: usize = 16 * 1024 * 1024;
/// First pause between two checks of what is parked: a message and its ack are often that close.
const FIRST_CHECK_MS: u64 = 10;
/// Longest pause between two checks.
const LONGEST_CHECK_MS: u64 = 500;

/// A parked record.
#[derive(Debug)]
pub struct Parked<T> {
    /// Where the record lies; its offset stays held.
    pub position: Position,
    /// When it was parked first, on the clock of `elapsed_ms`.
    pub since_ms: u64,
    /// Its size, for the bound.
    pub bytes: usize,
    /// What is left to do.
    pub item: T,
}

impl<T> Parked<T> {
    /// Has it waited long enough?
    #[must_use]
    pub const fn is_overdue(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.since_ms) >= PARKED_AT_MOST_MS
    }
}

/// What a role has parked.
#[derive(Debug)]
pub struct ParkingLot<T> {
    parked: Vec<Parked<T>>,
    check_at_ms: u64,
    pause_ms: u64,
}

impl<T> Default for ParkingLot<T> {
    fn default() -> Self {
        Self { parked: Vec::new(), check_at_ms: 0, pause_ms: FIRST_CHECK_MS }
    }
}

impl<T> ParkingLot<T> {
    /// Parks a record for the first time: it is looked at again soon.
    pub fn park(&mut self, parked: Parked<T>, now_ms: u64) {
        self.parked.push(parked);
        self.pause_ms = FIRST_CHECK_MS;
        self.check_at_ms = if self.parked.len() == 1 {
            now_ms + self.pause_ms
        } else {
            self.check_at_ms.min(now_ms + self.pause_ms)
        };
    }

    /// Everything parked, when it is time to look again; what still has to wait is given back with
    /// [`ParkingLot::put_back`].
    pub fn take_due(&mut self, now_ms: u64) -> Vec<Parked<T>> {
        if self.parked.is_empty() || now_ms < self.check_at_ms {
            return Vec::new();
        }
        self.check_at_ms = now_ms + self.pause_ms;
        self.pause_ms = (self.pause_ms * 2).min(LONGEST_CHECK_MS);
        std::mem::take(&mut self.parked)
    }

    /// What was looked at and still has to wait.
    pub fn put_back(&mut self, parked: Parked<T>) {
        self.parked.push(parked);
    }

    /// When to look again.
    #[must_use]
    pub fn next_wake_ms(&self) -> Option<u64> {
        (!self.parked.is_empty()).then_some(self.check_at_ms)
    }

    /// Partitions that must pause.
    #[must_use]
    pub fn full(&self) -> BTreeSet<TopicPartition> {
        let mut counts: BTreeMap<TopicPartition, usize> = BTreeMap::new();
        let mut bytes = 0;
        for parked in &self.parked {
            *counts.entry(parked.position.partition).or_default() += 1;
            bytes += parked.bytes;
        }
        counts.retain(|_, count| *count >= FULL_AT_RECORDS || bytes >= FULL_AT_BYTES);
        counts.into_keys().collect()
    }

    /// Drops what is parked of these partitions.
    pub fn forget(&mut self, partitions: &[TopicPartition]) {
        self.parked.retain(|parked| !partitions.contains(&parked.position.partition));
    }

    /// How many records are parked.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parked.len()
    }

    /// Nothing parked?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parked.is_empty()
    }
}
