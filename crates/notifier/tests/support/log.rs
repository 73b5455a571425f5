use async_trait::async_trait;
use readmark_domain::time::TimeMs;
use readmark_events::Topic;
use readmark_log::{
    Consumer, EventLog, Group, LogError, LogErrorKind, NewRecord, Offset, Position, Record, TopicPartition,
};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// A log of one partition a topic.
#[derive(Default)]
pub struct TestLog(Mutex<State>);

#[derive(Default)]
struct State {
    records: BTreeMap<TopicPartition, Vec<Record>>,
    starts: BTreeMap<TopicPartition, Offset>,
    committed: BTreeMap<(String, TopicPartition), Offset>,
}

/// The partition of a topic.
pub const fn partition(topic: Topic) -> TopicPartition {
    TopicPartition { topic, partition: 0 }
}

impl TestLog {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Stores the positions of a group.
    pub fn commit(&self, group: &str, positions: &[(TopicPartition, Offset)]) {
        let positions = positions.iter().map(|(at, offset)| ((group.to_owned(), *at), *offset));
        self.state().committed.extend(positions);
    }

    /// Retention takes the records before this offset.
    pub fn expire(&self, topic: Topic, before: Offset) {
        self.state().starts.insert(partition(topic), before);
    }

    /// Records of a topic from an offset on, or from the oldest one.
    pub fn from(&self, topic: Topic, offset: Offset) -> Vec<Record> {
        let state = self.state();
        let start = state.starts.get(&partition(topic)).copied().unwrap_or(0).max(offset);
        let records = state.records.get(&partition(topic)).map(Vec::as_slice).unwrap_or_default();
        records.get(usize::try_from(start).unwrap()..).unwrap_or_default().to_vec()
    }
}

#[async_trait]
impl EventLog for TestLog {
    fn partitions(&self, _: Topic) -> u32 {
        1
    }

    async fn append(&self, records: Vec<NewRecord>) -> Result<Vec<Position>, LogError> {
        let mut state = self.state();
        let append = |new: NewRecord| {
            let partition = partition(new.topic);
            let records = state.records.entry(partition).or_default();
            let position = Position { partition, offset: records.len() as u64 };
            records.push(Record {
                position,
                appended_at: TimeMs::ZERO,
                key: Some(new.key),
                payload: new.payload,
                headers: new.headers,
            });
            position
        };
        Ok(records.into_iter().map(append).collect())
    }

    async fn join(&self, _: &Group, _: &[Topic]) -> Result<Box<dyn Consumer>, LogError> {
        Err(LogError::new("join", LogErrorKind::Refused, "roles are driven by hand"))
    }

    async fn start_offset(&self, partition: TopicPartition) -> Result<Offset, LogError> {
        Ok(self.state().starts.get(&partition).copied().unwrap_or(0))
    }

    async fn end_offset(&self, partition: TopicPartition) -> Result<Offset, LogError> {
        Ok(self.state().records.get(&partition).map_or(0, |records| records.len() as u64))
    }

    async fn committed(&self, group: &Group, partition: TopicPartition) -> Result<Option<Offset>, LogError> {
        Ok(self.state().committed.get(&(group.0.clone(), partition)).copied())
    }

    async fn offset_for_time(&self, _: TopicPartition, _: TimeMs) -> Result<Offset, LogError> {
        Ok(0)
    }

    async fn read(&self, at: TopicPartition, from: Offset, most: usize) -> Result<Vec<Record>, LogError> {
        Ok(self.from(at.topic, from).into_iter().take(most).collect())
    }

    async fn probe(&self) -> Result<(), LogError> {
        Ok(())
    }
}
