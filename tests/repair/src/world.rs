use crate::clock::DrivenClock;
use crate::facts::{id, joined, message, seq, uid};
use crate::running::{Running, Which};
use readmark_domain::dead_letter::LetterState;
use readmark_events::Topic;
use readmark_log::embedded::{EmbeddedLog, EmbeddedLogOptions};
use readmark_log::{NewRecord, Record, TopicPartition};
use readmark_repair::letters::{Seen, Selection, list};
use readmark_runtime::clock::Clock;
use readmark_runtime::ports::{Ports, Rules};
use readmark_store::memory::MemoryStore;
use readmark_test_harness::{DEADLINE, wait_until};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Partitions of every topic: more than one, so that what goes round all of them is seen to.
const PARTITIONS: u32 = 3;
/// Time that passes at every look: windows close by it.
const LOOK_MS: u64 = 25;
/// The same while records are parked, for half a minute.
const PARKED_LOOK_MS: u64 = 2_000;
/// Records read at once.
const PAGE: usize = 500;
/// Letters listed at most.
const LETTERS: usize = 10_000;

/// The parts, and a conversation whose members are 7 (who sends), 8 and 9.
pub struct World {
    /// What the roles see.
    pub ports: Ports,
    /// Its time.
    pub clock: Arc<DrivenClock>,
    _directory: tempfile::TempDir,
}

impl World {
    /// Without roles.
    pub async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(DrivenClock::default());
        let (of_log, of_store) = (clock.clone(), clock.clone());
        let options = EmbeddedLogOptions {
            partitions: PARTITIONS,
            now: Arc::new(move || of_log.now()),
            ..EmbeddedLogOptions::default()
        };
        let log = EmbeddedLog::open(directory.path().join("log.redb"), options).await.unwrap();
        let store = MemoryStore::new(Arc::new(move || of_store.now()));
        let ports = Ports { log: Arc::new(log), store: Arc::new(store), clock: clock.clone() };
        Self { ports, clock, _directory: directory }
    }

    /// With the roles that handle facts, and the conversation's members in it.
    pub async fn with_roles() -> (Self, [Running; 3]) {
        let world = Self::new().await;
        let running = [Which::Catalog, Which::Aggregator, Which::Watermark].map(|which| world.start(which));
        for user in [7, 8, 9] {
            world.put(joined(user, world.clock.now())).await;
        }
        (world, running)
    }

    /// Starts a role.
    #[must_use]
    pub fn start(&self, which: Which) -> Running {
        Running::start(which, &self.ports, &Rules::default().prefix)
    }

    /// Puts a record into the log.
    pub async fn put(&self, record: NewRecord) {
        self.ports.log.append(vec![record]).await.unwrap();
    }

    /// Messages of user 7.
    pub async fn send(&self, seqs: impl IntoIterator<Item = u64>) {
        for n in seqs {
            self.put(message(7, n, self.clock.now())).await;
        }
    }

    /// Waits, while a little time passes.
    pub async fn until<F, R>(&self, what: &str, mut look: F)
    where
        F: FnMut() -> R,
        R: Future<Output = Result<(), String>>,
    {
        wait_until(DEADLINE, what, || {
            self.clock.advance_ms(LOOK_MS);
            look()
        })
        .await;
    }

    /// Waits until these users, and no others, are the readers of a message.
    pub async fn until_read_by(&self, n: u64, readers: &[u64]) {
        let expected: Vec<_> = readers.iter().map(|reader| uid(*reader)).collect();
        self.until(&format!("{readers:?} to have read {n}"), || async {
            let arrays = self.ports.store.read_arrays(&id(), &[seq(n)]).await.unwrap();
            let seen = arrays[0].readers();
            if seen == expected { Ok(()) } else { Err(format!("{seen:?}")) }
        })
        .await;
    }

    /// How far a user has read.
    pub async fn read_of(&self, user: u64) -> u64 {
        let row = self.ports.store.user_conversation(uid(user), &id()).await.unwrap();
        row.unwrap_or_default().read.seq.get()
    }

    /// Every record of a topic.
    pub async fn records(&self, topic: Topic) -> Vec<Record> {
        let mut records = Vec::new();
        for partition in 0..PARTITIONS {
            let (at, mut next) = (TopicPartition { topic, partition }, 0);
            loop {
                let page = self.ports.log.read(at, next, PAGE).await.unwrap();
                let Some(last) = page.last() else { break };
                next = last.position.offset + 1;
                records.extend(page);
            }
        }
        records
    }

    /// Every dead letter, by the time it failed.
    pub async fn letters(&self) -> Vec<Seen> {
        let listed = list(&self.ports, &Selection::default(), LETTERS).await.unwrap();
        assert!(!listed.more);
        listed.letters
    }

    /// The dead letters in a state.
    pub async fn letters_in(&self, state: LetterState) -> Vec<Seen> {
        let selection = Selection { states: BTreeSet::from([state]), ..Selection::default() };
        list(&self.ports, &selection, LETTERS).await.unwrap().letters
    }

    /// Waits until so many letters are in that state.
    pub async fn until_letters(&self, state: LetterState, count: usize) {
        self.until(&format!("{count} letters to be {}", state.as_str()), || async {
            let found = self.letters_in(state).await.len();
            if found == count { Ok(()) } else { Err(format!("{found} are")) }
        })
        .await;
    }

    /// Waits until records that wait for something that does not come have become so many open letters.
    pub async fn until_given_up(&self, count: usize) {
        self.until(&format!("{count} records to be given up"), || async {
            self.clock.advance_ms(PARKED_LOOK_MS);
            let open = self.letters_in(LetterState::Open).await.len();
            if open == count { Ok(()) } else { Err(format!("{open} are")) }
        })
        .await;
    }

    /// Waits until a role has handled all that its topics hold now.
    pub async fn until_caught_up(&self, which: &str, topics: &[Topic]) {
        let group = Rules::default().group(which);
        self.until(&format!("the {which} to have caught up"), || async {
            for topic in topics {
                for partition in 0..PARTITIONS {
                    let at = TopicPartition { topic: *topic, partition };
                    let end = self.ports.log.end_offset(at).await.unwrap();
                    let stored = self.ports.log.committed(&group, at).await.unwrap();
                    if stored.unwrap_or(0) < end {
                        return Err(format!("{at}: {stored:?} of {end}"));
                    }
                }
            }
            Ok(())
        })
        .await;
    }
}
