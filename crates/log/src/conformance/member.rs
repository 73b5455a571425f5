//! A member that works by itself, and the journal in which several of them are watched.

use super::hands::{DEADLINE, TOPIC, next_offsets};
use crate::port::{Consumer, EventLog, Group, PolledEvent};
use crate::record::{Offset, Position, Record, TopicPartition};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What all members of a group have done. Breaches are kept and reported by [`Journal::check`], since a panic
/// in a member's task would only look like a member that crashed.
#[derive(Debug, Default)]
pub struct Journal {
    handled: BTreeMap<Position, usize>,
    stored: BTreeMap<TopicPartition, Offset>,
    owners: BTreeMap<TopicPartition, u32>,
    /// Last offset handled under the present ownership.
    last: BTreeMap<TopicPartition, Offset>,
    /// Members that were told to crash: what they still do until they are gone is seen, but not judged.
    dead: BTreeSet<u32>,
    breaches: Vec<String>,
}

impl Journal {
    fn assigned(&mut self, member: u32, partitions: &[TopicPartition]) {
        if self.dead.contains(&member) {
            return;
        }
        for partition in partitions {
            if let Some(owner) = self.owners.insert(*partition, member) {
                self.breaches.push(format!("{partition} given to {member} while {owner} has it"));
            }
            self.last.remove(partition);
        }
    }

    fn handled(&mut self, member: u32, records: &[Record]) {
        for record in records {
            if !self.dead.contains(&member) {
                self.judge(member, record.position);
            }
            *self.handled.entry(record.position).or_default() += 1;
        }
    }

    fn judge(&mut self, member: u32, Position { partition, offset }: Position) {
        if self.owners.get(&partition) != Some(&member) {
            self.breaches.push(format!("{member} got {partition} {offset} and does not own it"));
        }
        if self.stored.get(&partition).is_some_and(|stored| offset < *stored) {
            self.breaches.push(format!("{partition} {offset} came again though a later one was stored"));
        }
        let follows = match (self.last.insert(partition, offset), offset.checked_sub(1)) {
            (Some(last), _) => offset == last + 1,
            // A new owner begins where the one before it stored, so everything before has been handled.
            (None, Some(before)) => self.handled.contains_key(&Position { partition, offset: before }),
            (None, None) => true,
        };
        if !follows {
            self.breaches.push(format!("{partition}: {offset} came, but not what is before it"));
        }
    }

    fn stored(&mut self, positions: &[(TopicPartition, Offset)]) {
        for (partition, offset) in positions {
            let known = self.stored.entry(*partition).or_default();
            *known = offset.max(known).to_owned();
        }
    }

    fn gone(&mut self, member: u32, partitions: &[TopicPartition]) {
        self.owners.retain(|partition, owner| *owner != member || !partitions.contains(partition));
    }

    fn left(&mut self, member: u32) {
        self.owners.retain(|_, owner| *owner != member);
    }

    pub fn owned_by(&self, member: u32) -> usize {
        self.owners.values().filter(|owner| **owner == member).count()
    }

    pub fn handled_of(&self, expected: &BTreeSet<Position>) -> usize {
        expected.iter().filter(|position| self.handled.contains_key(position)).count()
    }

    pub fn handled_more_than_once(&self) -> usize {
        self.handled.values().filter(|times| **times > 1).count()
    }

    /// Nothing forbidden has happened.
    pub fn check(&self) {
        assert!(self.breaches.is_empty(), "{:#?}", self.breaches);
    }
}

/// Whether a member stores a position after each batch, or only when it is asked to give back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stores {
    EachBatch,
    WhenRevoked,
}

pub struct Member {
    name: u32,
    journal: Arc<Mutex<Journal>>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

pub fn lock(journal: &Mutex<Journal>) -> MutexGuard<'_, Journal> {
    journal.lock().unwrap()
}

impl Member {
    pub async fn start(
        log: &dyn EventLog,
        group: &Group,
        name: u32,
        stores: Stores,
        journal: &Arc<Mutex<Journal>>,
    ) -> Self {
        let consumer = log.join(group, &[TOPIC]).await.expect("join");
        let (stop, stopped) = watch::channel(false);
        let work = work(consumer, name, stores, Arc::clone(journal), stopped);
        Self { name, journal: Arc::clone(journal), stop, task: tokio::spawn(work) }
    }

    /// Stores what was handled and leaves.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        self.task.await.expect("the member ends");
    }

    /// Is gone from one moment to the next.
    pub async fn crash(self) {
        {
            let mut journal = lock(&self.journal);
            journal.left(self.name);
            journal.dead.insert(self.name);
        }
        self.task.abort();
        let _ = self.task.await;
    }
}

async fn work(
    mut consumer: Box<dyn Consumer>,
    name: u32,
    stores: Stores,
    journal: Arc<Mutex<Journal>>,
    stop: watch::Receiver<bool>,
) {
    let mut unstored: BTreeMap<TopicPartition, Offset> = BTreeMap::new();
    while !*stop.borrow() {
        match consumer.next(20).await.expect("next") {
            PolledEvent::Assigned(partitions) => lock(&journal).assigned(name, &partitions),
            PolledEvent::Records(records) => {
                lock(&journal).handled(name, &records);
                unstored.extend(next_offsets(&records));
                if stores == Stores::EachBatch {
                    store(&mut *consumer, &mut unstored, None, &journal).await;
                }
            }
            PolledEvent::Revoked(partitions) => {
                store(&mut *consumer, &mut unstored, Some(&partitions), &journal).await;
                lock(&journal).gone(name, &partitions);
                consumer.release(&partitions).await.expect("release");
            }
            PolledEvent::Lost(partitions) => {
                unstored.retain(|partition, _| !partitions.contains(partition));
                let mut journal = lock(&journal);
                journal.breaches.push(format!("{name} lost {partitions:?}"));
            }
            PolledEvent::Idle => {}
        }
    }
    store(&mut *consumer, &mut unstored, None, &journal).await;
    lock(&journal).left(name);
    consumer.close().await.expect("close");
}

async fn store(
    consumer: &mut dyn Consumer,
    unstored: &mut BTreeMap<TopicPartition, Offset>,
    only: Option<&[TopicPartition]>,
    journal: &Mutex<Journal>,
) {
    let positions: Vec<(TopicPartition, Offset)> = unstored
        .iter()
        .filter(|(partition, _)| only.is_none_or(|only| only.contains(partition)))
        .map(|(partition, offset)| (*partition, *offset))
        .collect();
    consumer.commit(&positions).await.expect("commit");
    lock(journal).stored(&positions);
    for (partition, _) in positions {
        unstored.remove(&partition);
    }
}

/// Waits until the journal says so.
pub async fn until(journal: &Mutex<Journal>, what: &str, is_so: impl Fn(&Journal) -> bool) {
    let start = Instant::now();
    loop {
        {
            let journal = lock(journal);
            journal.check();
            if is_so(&journal) {
                return;
            }
            assert!(
                start.elapsed() < DEADLINE,
                "{what}: not within {DEADLINE:?}; owners {:?}",
                journal.owners
            );
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
