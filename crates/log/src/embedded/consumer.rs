use super::coordinator::{MemberId, News, Tenure};
use super::{Inner, POLL_RECORDS_MAX, positions, read};
use crate::error::{LogError, LogErrorKind};
use crate::port::{Consumer, Group, PolledEvent};
use crate::record::{Offset, Record, TopicPartition};
use async_trait::async_trait;
use readmark_events::Topic;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::watch;
use tokio::time::{Duration, Instant};

/// Where a member is in a partition.
#[derive(Debug, Clone, Copy)]
struct Place {
    tenure: Tenure,
    /// The next record to hand over.
    next: Offset,
    /// The stored position, which only rises.
    stored: Offset,
    /// Was it stored by this member?
    has_stored: bool,
}

pub struct EmbeddedConsumer {
    inner: Arc<Inner>,
    group: Group,
    member: MemberId,
    changes: watch::Receiver<()>,
    places: BTreeMap<TopicPartition, Place>,
    paused: BTreeSet<TopicPartition>,
    /// How often the file had been opened again when positions were stored last.
    reopened_total: u64,
    /// The partition that was read last: the next read begins behind it, so that none starves.
    last_read: Option<TopicPartition>,
}

impl EmbeddedConsumer {
    pub fn join(inner: Arc<Inner>, group: &Group, topics: &[Topic]) -> Self {
        let member = inner.coordinator().join(group, topics, Instant::now());
        let changes = inner.tails.subscribe();
        inner.tails.wake();
        Self {
            reopened_total: inner.engine.counts().reopened_total,
            inner,
            group: group.clone(),
            member,
            changes,
            places: BTreeMap::new(),
            paused: BTreeSet::new(),
            last_read: None,
        }
    }

    /// What the group has to tell this member.
    async fn news(&mut self) -> Result<Option<PolledEvent>, LogError> {
        let (expired, news) = {
            let mut coordinator = self.inner.coordinator();
            let expired = coordinator.expire(&self.group, Instant::now());
            (expired, coordinator.news(&self.group, self.member))
        };
        if expired {
            self.inner.tails.wake();
        }
        match news {
            News::None => Ok(None),
            News::Lost(partitions) => {
                self.forget(&partitions);
                Ok(Some(PolledEvent::Lost(partitions)))
            }
            News::Revoked(partitions) => Ok(Some(PolledEvent::Revoked(partitions))),
            News::Given(given) => self.take(given).await,
        }
    }

    async fn take(&mut self, given: Vec<(TopicPartition, Tenure)>) -> Result<Option<PolledEvent>, LogError> {
        let partitions = given.iter().map(|(partition, _)| *partition).collect();
        let starts = positions::starts(&self.inner, &self.group, partitions).await?;
        let taken = self.inner.coordinator().take(&self.group, self.member, &given);
        let tenures: BTreeMap<TopicPartition, Tenure> = given.into_iter().collect();
        for (partition, next) in starts {
            if taken.contains(&partition)
                && let Some(tenure) = tenures.get(&partition)
            {
                self.paused.remove(&partition);
                self.places
                    .insert(partition, Place { tenure: *tenure, next, stored: next, has_stored: false });
            }
        }
        Ok((!taken.is_empty()).then_some(PolledEvent::Assigned(taken)))
    }

    fn forget(&mut self, partitions: &[TopicPartition]) {
        for partition in partitions {
            self.places.remove(partition);
            self.paused.remove(partition);
        }
    }

    /// Positions are stored without a sync, so what was stored last may be gone with a handle that failed.
    async fn store_again(&mut self) -> Result<(), LogError> {
        let reopened_total = self.inner.engine.counts().reopened_total;
        if reopened_total == self.reopened_total {
            return Ok(());
        }
        let stored: Vec<(TopicPartition, Offset)> = {
            let coordinator = self.inner.coordinator();
            self.places
                .iter()
                .filter(|(partition, place)| {
                    place.has_stored && coordinator.owns(&self.group, self.member, **partition)
                })
                .map(|(partition, place)| (*partition, place.stored))
                .collect()
        };
        positions::store(&self.inner, &self.group, stored).await?;
        self.reopened_total = reopened_total;
        Ok(())
    }

    /// Records that are there, if any.
    async fn poll(&mut self) -> Result<Option<PolledEvent>, LogError> {
        self.inner.tails.refresh(&self.inner.engine).await?;
        let due = self.due();
        if due.is_empty() {
            return Ok(None);
        }
        let mut records = read::read(&self.inner, due, POLL_RECORDS_MAX).await?;
        // Meanwhile a partition may have been asked back.
        {
            let coordinator = self.inner.coordinator();
            records.retain(|record| {
                let partition = record.position.partition;
                let reads = coordinator.reads(&self.group, self.member, partition);
                reads.is_some() && reads == self.places.get(&partition).map(|place| place.tenure)
            });
        }
        self.advance(&records);
        Ok((!records.is_empty()).then_some(PolledEvent::Records(records)))
    }

    /// Partitions with something to read, the one read last at the end.
    fn due(&self) -> Vec<(TopicPartition, Offset)> {
        let coordinator = self.inner.coordinator();
        let mut due: Vec<(TopicPartition, Offset)> = self
            .places
            .iter()
            .filter(|(partition, place)| {
                !self.paused.contains(partition)
                    && place.next < self.inner.tails.end(**partition)
                    && coordinator.reads(&self.group, self.member, **partition) == Some(place.tenure)
            })
            .map(|(partition, place)| (*partition, place.next))
            .collect();
        let behind = due.partition_point(|(partition, _)| Some(*partition) <= self.last_read);
        due.rotate_left(behind);
        due
    }

    fn advance(&mut self, records: &[Record]) {
        for record in records {
            if let Some(place) = self.places.get_mut(&record.position.partition) {
                place.next = record.position.offset + 1;
            }
        }
        // A partition whose turn was cut short goes on only after the others.
        self.last_read = records.last().map(|record| record.position.partition).or(self.last_read);
    }
}

#[async_trait]
impl Consumer for EmbeddedConsumer {
    async fn next(&mut self, wait_ms: u64) -> Result<PolledEvent, LogError> {
        let idle_at = Instant::now() + Duration::from_millis(wait_ms);
        loop {
            // Seen before looking: what comes while looking wakes at once.
            self.changes.borrow_and_update();
            if let Some(event) = self.news().await? {
                return Ok(event);
            }
            self.store_again().await?;
            if let Some(event) = self.poll().await? {
                return Ok(event);
            }
            let expiry = self.inner.coordinator().next_deadline(&self.group);
            let until = expiry.map_or(idle_at, |expiry| expiry.min(idle_at));
            tokio::select! {
                // The sender lives as long as this member.
                _ = self.changes.changed() => {}
                () = tokio::time::sleep_until(until) => {
                    if Instant::now() >= idle_at {
                        return Ok(PolledEvent::Idle);
                    }
                }
            }
        }
    }

    async fn commit(&mut self, positions: &[(TopicPartition, Offset)]) -> Result<(), LogError> {
        let mut rising = Vec::with_capacity(positions.len());
        for (partition, offset) in positions {
            let owns = self.inner.coordinator().owns(&self.group, self.member, *partition);
            let Some(place) = self.places.get(partition).filter(|_| owns) else {
                let detail = format!("group {} has given it to another member", self.group);
                return Err(LogError::new("commit", LogErrorKind::NotOwner, detail).at_partition(*partition));
            };
            if *offset > place.stored {
                rising.push((*partition, *offset));
            }
        }
        if rising.is_empty() {
            return Ok(());
        }
        positions::store(&self.inner, &self.group, rising.clone()).await?;
        for (partition, offset) in rising {
            if let Some(place) = self.places.get_mut(&partition) {
                place.stored = offset;
                place.has_stored = true;
            }
        }
        Ok(())
    }

    async fn release(&mut self, partitions: &[TopicPartition]) -> Result<(), LogError> {
        {
            let mut coordinator = self.inner.coordinator();
            coordinator.release(&self.group, self.member, partitions, Instant::now());
        }
        self.forget(partitions);
        self.inner.tails.wake();
        Ok(())
    }

    async fn pause(&mut self, partitions: &[TopicPartition]) -> Result<(), LogError> {
        self.paused.extend(partitions.iter().filter(|partition| self.places.contains_key(partition)));
        Ok(())
    }

    async fn resume(&mut self, partitions: &[TopicPartition]) -> Result<(), LogError> {
        for partition in partitions {
            self.paused.remove(partition);
        }
        Ok(())
    }

    async fn close(self: Box<Self>) -> Result<(), LogError> {
        // Leaving is in the drop: a member that crashes leaves, too.
        Ok(())
    }
}

impl Drop for EmbeddedConsumer {
    fn drop(&mut self) {
        self.inner.coordinator().leave(&self.group, self.member, Instant::now());
        self.inner.tails.wake();
    }
}
