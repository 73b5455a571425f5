//! The simulated log's state: records, groups, who owns what. Synchronous; the ports are in `sim_log`.

use crate::rng::Rng;
use crate::told::Told;
use crate::world::{ConsumerId, TaskId};
use bytes::Bytes;
use readmark_domain::id::ConversationId;
use readmark_domain::time::TimeMs;
use readmark_events::Topic;
use readmark_log::{NewRecord, Offset, PolledEvent, Position, Record, TopicPartition};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A record and its number among all records of the log.
#[derive(Debug, Clone)]
pub struct Stored {
    /// The record.
    pub record: Record,
    /// Its number.
    pub no: u64,
}

/// A consumer group.
#[derive(Debug, Default)]
pub struct GroupState {
    topics: Vec<Topic>,
    members: Vec<ConsumerId>,
    owners: BTreeMap<TopicPartition, ConsumerId>,
    revoking: BTreeSet<TopicPartition>,
    /// Stored positions.
    pub committed: BTreeMap<TopicPartition, Offset>,
    /// Turns the assignment.
    turn: usize,
}

/// A consumer.
#[derive(Debug)]
pub struct ConsumerState {
    group: String,
    /// The task that runs it.
    pub task: TaskId,
    /// Its group has given it up, and it does not know.
    zombie: bool,
    events: VecDeque<PolledEvent>,
    positions: BTreeMap<TopicPartition, Offset>,
    paused: BTreeSet<TopicPartition>,
}

/// The log.
#[derive(Debug, Default)]
pub struct LogState {
    partitions: u32,
    records: BTreeMap<TopicPartition, Vec<Stored>>,
    next_no: u64,
    /// Groups by name.
    pub groups: BTreeMap<String, GroupState>,
    consumers: BTreeMap<ConsumerId, ConsumerState>,
    next_consumer: ConsumerId,
    /// Most records handed over at once, of one partition.
    pub batch: u64,
    /// How many of 100 assignments start below the position stored.
    pub behind_percent: u64,
    /// What was told so far.
    pub told: Told,
    /// Offsets of the oldest records kept.
    starts: BTreeMap<TopicPartition, Offset>,
}

impl LogState {
    /// Who counts in a conversation may be different from now on.
    pub fn who_counts_changed(&mut self, id: &ConversationId) {
        self.told.who_counts_no.insert(id.clone(), self.next_no);
    }

    /// An empty log with so many partitions a topic.
    #[must_use]
    pub fn new(partitions: u32, batch: u64) -> Self {
        Self { partitions, batch, ..Self::default() }
    }

    /// Partitions of a topic.
    #[must_use]
    pub const fn partitions(&self) -> u32 {
        self.partitions
    }

    /// Appends a record to the partition of its key.
    pub fn append(&mut self, new: NewRecord, at: TimeMs) -> Stored {
        let partition = readmark_log::partitioner::partition_of(&new.key, self.partitions);
        let partition = TopicPartition { topic: new.topic, partition };
        let records = self.records.entry(partition).or_default();
        let position = Position { partition, offset: records.len() as u64 };
        let record = Record {
            position,
            appended_at: at,
            key: Some(new.key).filter(|key: &Bytes| !key.is_empty()),
            payload: new.payload,
            headers: new.headers,
        };
        let stored = Stored { record, no: self.next_no };
        self.next_no += 1;
        records.push(stored.clone());
        stored
    }

    /// Offset after the last record.
    #[must_use]
    pub fn end(&self, partition: TopicPartition) -> Offset {
        self.records.get(&partition).map_or(0, |records| records.len() as u64)
    }

    /// Offset of the oldest record kept.
    #[must_use]
    pub fn start_of(&self, partition: TopicPartition) -> Offset {
        self.starts.get(&partition).copied().unwrap_or(0)
    }

    /// Retention takes the oldest records of a partition, some or all.
    pub fn expire(&mut self, partition: TopicPartition, rng: &mut Rng) {
        let (start, end) = (self.start_of(partition), self.end(partition));
        self.starts.insert(partition, rng.within(start, end));
    }

    /// Records of one partition, `from .. to`, also those that are expired.
    #[must_use]
    pub fn slice(&self, partition: TopicPartition, from: Offset, to: Offset) -> Vec<Stored> {
        let index = |offset: Offset| usize::try_from(offset).unwrap_or(usize::MAX);
        let records = self.records.get(&partition).map(Vec::as_slice).unwrap_or_default();
        records.get(index(from)..index(to).min(records.len())).unwrap_or_default().to_vec()
    }

    /// Every record of a topic.
    #[must_use]
    pub fn all(&self, topic: Topic) -> Vec<Stored> {
        let of_topic = self.records.iter().filter(|(at, _)| at.topic == topic);
        of_topic.flat_map(|(_, records)| records.iter().cloned()).collect()
    }

    /// A new member of a group.
    pub fn join(&mut self, name: &str, topics: &[Topic], task: TaskId) -> ConsumerId {
        let id = self.next_consumer;
        self.next_consumer += 1;
        let consumer = ConsumerState {
            group: name.to_owned(),
            task,
            zombie: false,
            events: VecDeque::new(),
            positions: BTreeMap::new(),
            paused: BTreeSet::new(),
        };
        self.consumers.insert(id, consumer);
        let group = self.groups.entry(name.to_owned()).or_default();
        group.topics = topics.to_vec();
        group.members.push(id);
        self.rebalance(name);
        id
    }

    /// Gives every partition to the member whose turn it is.
    fn rebalance(&mut self, name: &str) {
        let Some(group) = self.groups.get_mut(name) else { return };
        let mut index = group.turn;
        for topic in group.topics.clone() {
            for partition in 0..self.partitions {
                let at = TopicPartition { topic, partition };
                index += 1;
                if group.members.is_empty() {
                    group.owners.remove(&at);
                    continue;
                }
                let target = group.members[index % group.members.len()];
                let (to, event) = match group.owners.get(&at) {
                    Some(owner) if *owner == target || group.revoking.contains(&at) => continue,
                    Some(owner) => {
                        group.revoking.insert(at);
                        (*owner, PolledEvent::Revoked(vec![at]))
                    }
                    None => {
                        group.owners.insert(at, target);
                        (target, PolledEvent::Assigned(vec![at]))
                    }
                };
                if let Some(consumer) = self.consumers.get_mut(&to) {
                    consumer.events.push_back(event);
                }
            }
        }
    }

    fn disown(&mut self, id: ConsumerId, partitions: Option<&[TopicPartition]>) -> Vec<TopicPartition> {
        let Some(consumer) = self.consumers.get(&id) else { return Vec::new() };
        let Some(group) = self.groups.get_mut(&consumer.group) else { return Vec::new() };
        let wanted = |at: &TopicPartition| partitions.is_none_or(|wanted| wanted.contains(at));
        let owned: Vec<TopicPartition> = group
            .owners
            .iter()
            .filter(|(at, owner)| **owner == id && wanted(at))
            .map(|(at, _)| *at)
            .collect();
        for at in &owned {
            group.owners.remove(at);
            group.revoking.remove(at);
        }
        owned
    }

    /// The consumer is gone: it left, or was dropped.
    pub fn leave(&mut self, id: ConsumerId) {
        self.disown(id, None);
        let Some(consumer) = self.consumers.remove(&id) else { return };
        if let Some(group) = self.groups.get_mut(&consumer.group) {
            group.members.retain(|member| *member != id);
        }
        self.rebalance(&consumer.group);
    }

    /// The group gives up all consumers of a task, which go on without knowing.
    pub fn make_zombie(&mut self, task: TaskId) {
        let ids: Vec<ConsumerId> =
            self.consumers.iter().filter(|(_, c)| c.task == task && !c.zombie).map(|(id, _)| *id).collect();
        for id in ids {
            self.disown(id, None);
            let Some(consumer) = self.consumers.get_mut(&id) else { continue };
            consumer.zombie = true;
            consumer.events.clear();
            let name = consumer.group.clone();
            if let Some(group) = self.groups.get_mut(&name) {
                group.members.retain(|member| *member != id);
            }
            self.rebalance(&name);
        }
    }

    /// A consumer of this task loses partitions (each of them in `percent` of 100 cases) without being asked, or
    /// because a revocation ran out of time.
    pub fn lose(&mut self, task: TaskId, rng: &mut Rng, percent: u64) {
        let Some(id) = self.consumers.iter().find(|(_, c)| c.task == task && !c.zombie).map(|(id, _)| *id)
        else {
            return;
        };
        let Some(name) = self.consumers.get(&id).map(|consumer| consumer.group.clone()) else { return };
        let owned: Vec<TopicPartition> = self.groups.get(&name).map_or_else(Vec::new, |group| {
            group.owners.iter().filter(|(_, owner)| **owner == id).map(|(at, _)| *at).collect()
        });
        let lost: Vec<TopicPartition> = owned.into_iter().filter(|_| rng.chance(percent)).collect();
        if lost.is_empty() {
            return;
        }
        self.disown(id, Some(&lost));
        if let Some(consumer) = self.consumers.get_mut(&id) {
            consumer.positions.retain(|at, _| !lost.contains(at));
            consumer.events.push_back(PolledEvent::Lost(lost));
        }
        if let Some(group) = self.groups.get_mut(&name) {
            group.turn += rng.index(2);
        }
        self.rebalance(&name);
    }

    /// Gives back revoked partitions.
    pub fn release(&mut self, id: ConsumerId, partitions: &[TopicPartition]) {
        self.disown(id, Some(partitions));
        let Some(consumer) = self.consumers.get_mut(&id) else { return };
        consumer.positions.retain(|at, _| !partitions.contains(at));
        let name = consumer.group.clone();
        self.rebalance(&name);
    }

    fn deliverable(&self, id: ConsumerId) -> Vec<(TopicPartition, Offset)> {
        let Some(consumer) = self.consumers.get(&id) else { return Vec::new() };
        let Some(group) = self.groups.get(&consumer.group) else { return Vec::new() };
        let open = |(at, position): &(&TopicPartition, &Offset)| {
            !consumer.paused.contains(at)
                && **position < self.end(**at)
                && (consumer.zombie || !group.revoking.contains(at))
        };
        consumer.positions.iter().filter(open).map(|(at, position)| (*at, *position)).collect()
    }

    /// Is there an event or a record for this consumer?
    #[must_use]
    pub fn has_something(&self, id: ConsumerId) -> bool {
        self.consumers.get(&id).is_some_and(|c| !c.events.is_empty()) || !self.deliverable(id).is_empty()
    }

    /// What the consumer is handed over next.
    pub fn poll(&mut self, id: ConsumerId, rng: &mut Rng) -> PolledEvent {
        let Some(consumer) = self.consumers.get_mut(&id) else { return PolledEvent::Idle };
        if consumer.zombie && !consumer.positions.is_empty() && rng.chance(40) {
            let lost = std::mem::take(&mut consumer.positions).into_keys().collect();
            return PolledEvent::Lost(lost);
        }
        match consumer.events.pop_front() {
            Some(PolledEvent::Assigned(partitions)) => self.start(id, partitions, rng),
            Some(event) => event,
            None => self.hand_over(id, rng),
        }
    }

    fn start(&mut self, id: ConsumerId, partitions: Vec<TopicPartition>, rng: &mut Rng) -> PolledEvent {
        let behind = self.behind_percent;
        let Some(consumer) = self.consumers.get_mut(&id) else { return PolledEvent::Idle };
        let Some(group) = self.groups.get_mut(&consumer.group) else { return PolledEvent::Idle };
        for at in &partitions {
            if group.owners.get(at) != Some(&id) {
                continue;
            }
            let start = self.starts.get(at).copied().unwrap_or(0);
            let mut position = group.committed.get(at).copied().unwrap_or(0);
            if position > 0 && rng.chance(behind) {
                position = position.saturating_sub(rng.within(1, 4));
                group.committed.insert(*at, position);
            }
            consumer.positions.insert(*at, position.max(start));
        }
        PolledEvent::Assigned(partitions)
    }

    fn hand_over(&mut self, id: ConsumerId, rng: &mut Rng) -> PolledEvent {
        let mut ready = self.deliverable(id);
        if ready.is_empty() {
            return PolledEvent::Idle;
        }
        rng.shuffle(&mut ready);
        let kept = rng.index(ready.len()) + 1;
        ready.truncate(kept);
        ready.sort_unstable();
        let mut records = Vec::new();
        for (at, position) in ready {
            let to = (position + rng.within(1, self.batch)).min(self.end(at));
            records.extend(self.slice(at, position, to).into_iter().map(|stored| stored.record));
            if let Some(consumer) = self.consumers.get_mut(&id) {
                consumer.positions.insert(at, to);
            }
        }
        PolledEvent::Records(records)
    }

    /// Stores one position; `None` when the consumer does not own the partition. Gives back what was stored
    /// before.
    pub fn commit(&mut self, id: ConsumerId, at: TopicPartition, position: Offset) -> Option<Offset> {
        let consumer = self.consumers.get(&id)?;
        let group = self.groups.get_mut(&consumer.group)?;
        // Lost and given back meanwhile is lost: the group's generation has moved on.
        if group.owners.get(&at) != Some(&id) || !consumer.positions.contains_key(&at) {
            return None;
        }
        Some(group.committed.insert(at, position).unwrap_or(0))
    }

    /// How far the consumer has been handed records of a partition.
    #[must_use]
    pub fn handed_to(&self, id: ConsumerId, at: TopicPartition) -> Offset {
        self.consumers.get(&id).and_then(|c| c.positions.get(&at)).copied().unwrap_or(0)
    }

    /// Pauses or resumes.
    pub fn pause(&mut self, id: ConsumerId, partitions: &[TopicPartition], paused: bool) {
        let Some(consumer) = self.consumers.get_mut(&id) else { return };
        for at in partitions {
            if paused {
                consumer.paused.insert(*at);
            } else {
                consumer.paused.remove(at);
            }
        }
    }

    /// Has every group stored the end of all its partitions?
    #[must_use]
    pub fn all_consumed(&self) -> bool {
        self.groups.values().all(|group| {
            group.topics.iter().all(|topic| {
                (0..self.partitions).all(|partition| {
                    let at = TopicPartition { topic: *topic, partition };
                    group.committed.get(&at).copied().unwrap_or(0) == self.end(at)
                })
            })
        })
    }
}
