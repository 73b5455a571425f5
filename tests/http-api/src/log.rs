use async_trait::async_trait;
use futures::future::BoxFuture;
use readmark_domain::time::TimeMs;
use readmark_events::{Fact, Topic, decode};
use readmark_log::{
    Consumer, EventLog, Group, LogError, LogErrorKind, NewRecord, Offset, Position, Record, TopicPartition,
};
use std::sync::Mutex;

/// What the log does with appends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Fine,
    Away,
    Refusing,
    NeverAnswering,
}

/// A log that does as it is told. Its catalog has applied everything, unless it is held back.
pub struct ScriptedLog {
    state: Mutex<State>,
}

struct State {
    mood: Mood,
    appended: Vec<NewRecord>,
    catalog_held: bool,
    /// What the catalog does the next time somebody asks how far it is.
    catalog_applies: Option<BoxFuture<'static, ()>>,
}

impl Default for ScriptedLog {
    fn default() -> Self {
        let state =
            State { mood: Mood::Fine, appended: Vec::new(), catalog_held: false, catalog_applies: None };
        Self { state: Mutex::new(state) }
    }
}

impl ScriptedLog {
    pub fn set_mood(&self, mood: Mood) {
        self.state.lock().unwrap().mood = mood;
    }

    /// The catalog's position stays before everything that is appended, whatever it applies.
    pub fn hold_catalog(&self) {
        self.state.lock().unwrap().catalog_held = true;
    }

    /// The catalog applies this the next time somebody asks how far it is, and not before.
    pub fn catalog_will_apply(&self, work: BoxFuture<'static, ()>) {
        self.state.lock().unwrap().catalog_applies = Some(work);
    }

    pub fn records(&self) -> Vec<NewRecord> {
        self.state.lock().unwrap().appended.clone()
    }

    /// Every fact of this family that was appended, in order.
    pub fn facts<F: Fact>(&self) -> Vec<F> {
        let of_topic = self.records().into_iter().filter(|record| record.topic == F::TOPIC);
        of_topic.map(|record| decode(Some(&record.key), &record.payload).unwrap()).collect()
    }
}

#[async_trait]
impl EventLog for ScriptedLog {
    fn partitions(&self, _: Topic) -> u32 {
        4
    }

    async fn append(&self, records: Vec<NewRecord>) -> Result<Vec<Position>, LogError> {
        let mood = self.state.lock().unwrap().mood;
        match mood {
            Mood::Fine => {
                let positions = records.iter().map(|record| {
                    let partition = self.partition_of(record.topic, &record.key);
                    Position { partition: TopicPartition { topic: record.topic, partition }, offset: 0 }
                });
                let positions = positions.collect();
                self.state.lock().unwrap().appended.extend(records);
                Ok(positions)
            }
            Mood::Away => Err(LogError::new("append", LogErrorKind::Unavailable, "told to be away")),
            Mood::Refusing => Err(LogError::new("append", LogErrorKind::Refused, "told to refuse")),
            Mood::NeverAnswering => futures::future::pending().await,
        }
    }

    async fn join(&self, _: &Group, _: &[Topic]) -> Result<Box<dyn Consumer>, LogError> {
        unimplemented_here("join")
    }

    async fn start_offset(&self, _: TopicPartition) -> Result<Offset, LogError> {
        Ok(0)
    }

    async fn end_offset(&self, _: TopicPartition) -> Result<Offset, LogError> {
        Ok(10)
    }

    async fn committed(&self, group: &Group, partition: TopicPartition) -> Result<Option<Offset>, LogError> {
        assert_eq!(group.0, "readmark.catalog", "only the catalog is waited for");
        assert_eq!(partition.topic, Topic::ConversationEvents);
        let (held, work) = {
            let mut state = self.state.lock().unwrap();
            (state.catalog_held, state.catalog_applies.take())
        };
        if let Some(work) = work {
            work.await;
        }
        Ok(Some(if held { 9 } else { 10 }))
    }

    async fn offset_for_time(&self, _: TopicPartition, _: TimeMs) -> Result<Offset, LogError> {
        Ok(0)
    }

    async fn read(&self, _: TopicPartition, _: Offset, _: usize) -> Result<Vec<Record>, LogError> {
        Ok(Vec::new())
    }

    async fn probe(&self) -> Result<(), LogError> {
        Ok(())
    }
}

fn unimplemented_here<T>(operation: &'static str) -> Result<T, LogError> {
    Err(LogError::new(operation, LogErrorKind::Refused, "no call of HTTP needs it"))
}
