//! The log's ports.

use crate::mutation::Mutation;
use crate::tap::Tap;
use crate::world::{ConsumerId, Ready, State, World};
use async_trait::async_trait;
use readmark_domain::time::TimeMs;
use readmark_events::Topic;
use readmark_log::{
    Consumer, EventLog, Group, LogError, LogErrorKind, NewRecord, Offset, PolledEvent, Position, Record,
    TopicPartition,
};
use std::sync::Arc;

/// The log as one task sees it.
pub struct SimLog {
    world: Arc<World>,
    tap: Arc<Tap>,
}

impl SimLog {
    /// For one task.
    #[must_use]
    pub const fn new(world: Arc<World>, tap: Arc<Tap>) -> Self {
        Self { world, tap }
    }

    fn fails(&self, operation: &'static str, when: &str) -> Result<(), LogError> {
        if self.world.state().fails() {
            self.world.note(|| format!("{operation} fails {when} it took effect"));
            return Err(LogError::new(operation, LogErrorKind::Unavailable, when));
        }
        Ok(())
    }
}

#[async_trait]
impl EventLog for SimLog {
    fn partitions(&self, _: Topic) -> u32 {
        self.world.state().log.partitions()
    }

    async fn append(&self, records: Vec<NewRecord>) -> Result<Vec<Position>, LogError> {
        self.world.gate(Ready::Now).await;
        self.fails("append", "before")?;
        let cut_off = self.world.state().fails();
        let landed = if cut_off { self.world.state().rng.index(records.len() + 1) } else { records.len() };
        let mut positions = Vec::with_capacity(records.len());
        for record in records.into_iter().take(landed) {
            self.world
                .note(|| format!("append {} {}", record.topic, String::from_utf8_lossy(&record.payload)));
            // What a left-out rule would not have produced looks as if it were there.
            let topic = record.topic;
            let partition = TopicPartition { topic, partition: self.partition_of(topic, &record.key) };
            if self.tap.swallows(&record) {
                self.world.note(|| "swallowed".to_owned());
                positions.push(Position { partition, offset: 0 });
                continue;
            }
            let stored = {
                let now = self.world.now();
                self.world.state().log.append(record, now)
            };
            positions.push(stored.record.position);
            crate::told::observe(&self.world, &stored);
        }
        if cut_off {
            self.world.note(|| "append fails after it took effect in part".to_owned());
            return Err(LogError::new("append", LogErrorKind::Unavailable, "after"));
        }
        Ok(positions)
    }

    async fn join(&self, group: &Group, topics: &[Topic]) -> Result<Box<dyn Consumer>, LogError> {
        self.world.gate(Ready::Now).await;
        self.fails("join", "before")?;
        let mut state = self.world.state();
        let task = state.current;
        let id = state.log.join(&group.0, topics, task);
        drop(state);
        let log = Self::new(self.world.clone(), self.tap.clone());
        Ok(Box::new(SimConsumer { log, id, group: group.0.clone() }))
    }

    async fn start_offset(&self, partition: TopicPartition) -> Result<Offset, LogError> {
        self.world.gate(Ready::Now).await;
        self.fails("start_offset", "before")?;
        if self.tap.mutation() == Some(Mutation::LostRecordsNotMissed) {
            return Ok(0);
        }
        Ok(self.world.state().log.start_of(partition))
    }

    async fn end_offset(&self, partition: TopicPartition) -> Result<Offset, LogError> {
        self.world.gate(Ready::Now).await;
        Ok(self.world.state().log.end(partition))
    }

    async fn committed(&self, group: &Group, partition: TopicPartition) -> Result<Option<Offset>, LogError> {
        self.world.gate(Ready::Now).await;
        let state = self.world.state();
        Ok(state.log.groups.get(&group.0).and_then(|g| g.committed.get(&partition)).copied())
    }

    async fn offset_for_time(&self, partition: TopicPartition, at: TimeMs) -> Result<Offset, LogError> {
        self.world.gate(Ready::Now).await;
        let state = self.world.state();
        let all = state.log.slice(partition, 0, Offset::MAX);
        Ok(all.iter().filter(|stored| stored.record.appended_at < at).count() as u64)
    }

    async fn read(
        &self,
        partition: TopicPartition,
        from: Offset,
        max_records: usize,
    ) -> Result<Vec<Record>, LogError> {
        self.world.gate(Ready::Now).await;
        let to = from.saturating_add(max_records as u64);
        let slice = self.world.state().log.slice(partition, from, to);
        Ok(slice.into_iter().map(|stored| stored.record).collect())
    }

    async fn probe(&self) -> Result<(), LogError> {
        Ok(())
    }
}

/// A consumer. Dropped without `close`, its process crashed.
struct SimConsumer {
    log: SimLog,
    id: ConsumerId,
    group: String,
}

impl Drop for SimConsumer {
    fn drop(&mut self) {
        self.log.world.state().log.leave(self.id);
    }
}

impl SimConsumer {
    /// Stores positions and checks, for each, that the work before it is durable and told.
    fn store(&self, positions: &[(TopicPartition, Offset)]) -> Result<(), LogError> {
        let world = &self.log.world;
        let mut lost = false;
        for (at, position) in positions {
            let mut state = world.state();
            let handed_to = state.log.handed_to(self.id, *at);
            let before = state.log.commit(self.id, *at, *position);
            drop(state);
            match before {
                None => lost = true,
                Some(before) => {
                    crate::commits::check(world, &self.group, *at, before, *position, handed_to);
                }
            }
        }
        if lost && world.state().rng.chance(70) {
            return Err(LogError::new("commit", LogErrorKind::NotOwner, "given up"));
        }
        Ok(())
    }
}

#[async_trait]
impl Consumer for SimConsumer {
    async fn next(&mut self, wait_ms: u64) -> Result<PolledEvent, LogError> {
        let world = &self.log.world;
        world.gate(Ready::Records(self.id, world.elapsed_ms() + wait_ms)).await;
        self.log.fails("next", "before")?;
        let mut state = world.state();
        let State { log, rng, .. } = &mut *state;
        let event = log.poll(self.id, rng);
        drop(state);
        world.note(|| format!("consumer {} {} gets {}", self.id, self.group, shown(&event)));
        if let PolledEvent::Records(records) = &event {
            self.log.tap.handed(records);
            if self.log.tap.stores_before_work() {
                let next =
                    records.iter().map(|r| (r.position.partition, r.position.offset + 1)).collect::<Vec<_>>();
                let _ = self.store(&next);
            }
        }
        Ok(event)
    }

    async fn commit(&mut self, positions: &[(TopicPartition, Offset)]) -> Result<(), LogError> {
        self.log.world.gate(Ready::Now).await;
        self.log.tap.commits();
        self.log.fails("commit", "before")?;
        self.log.world.note(|| format!("consumer {} {} commits {positions:?}", self.id, self.group));
        self.store(positions)?;
        self.log.fails("commit", "after")
    }

    async fn release(&mut self, partitions: &[TopicPartition]) -> Result<(), LogError> {
        self.log.world.gate(Ready::Now).await;
        if let Err(error) = self.log.fails("release", "before") {
            // What a log does after its deadline.
            let task = self.log.world.state().current;
            let mut state = self.log.world.state();
            let State { log, rng, .. } = &mut *state;
            log.lose(task, rng, 100);
            return Err(error);
        }
        self.log.world.state().log.release(self.id, partitions);
        self.log.fails("release", "after")
    }

    async fn pause(&mut self, partitions: &[TopicPartition]) -> Result<(), LogError> {
        self.log.fails("pause", "before")?;
        self.log.world.state().log.pause(self.id, partitions, true);
        Ok(())
    }

    async fn resume(&mut self, partitions: &[TopicPartition]) -> Result<(), LogError> {
        self.log.fails("resume", "before")?;
        self.log.world.state().log.pause(self.id, partitions, false);
        Ok(())
    }

    async fn close(self: Box<Self>) -> Result<(), LogError> {
        self.log.world.gate(Ready::Now).await;
        self.log.fails("close", "before")
    }
}

fn shown(event: &PolledEvent) -> String {
    let PolledEvent::Records(records) = event else { return format!("{event:?}") };
    let at: Vec<String> =
        records.iter().map(|r| format!("{}:{}", r.position.partition, r.position.offset)).collect();
    format!("records {}", at.join(" "))
}
