//! Open windows: what is merged of one conversation before its members are told.

use crate::said::Said;
use readmark_domain::id::ConversationId;
use readmark_domain::time::TimeMs;
use readmark_domain::window::Tier;
use readmark_events::ConversationChanged;
use readmark_log::{Position, Record, TopicPartition};
use std::collections::BTreeMap;

/// A window closes early at so many bytes of records, so that what its members are told stays small.
const CLOSE_AT_BYTES: usize = 1024 * 1024;
/// Open windows in all; beyond it fan-outs come before new records.
const OPEN_AT_MOST: usize = 4_096;
/// Bytes of records merged in all of them; beyond it fan-outs come before new records.
const OPEN_BYTES_AT_MOST: usize = 32 * 1024 * 1024;
/// What a merged record takes at least, whatever its payload.
const RECORD_BASE_BYTES: usize = 64;

/// How long facts of a conversation are merged, in milliseconds: as good as at once for a person in a small group; a
/// larger one has so many messages that nobody follows more than one red dot a second.
const fn window_ms(tier: Tier) -> u64 {
    match tier {
        Tier::Small => 20,
        Tier::Medium | Tier::Large => 1_000,
    }
}

/// What was said about one conversation for a while.
#[derive(Debug)]
pub(crate) struct Window {
    pub conversation_id: ConversationId,
    pub tier: Tier,
    pub said: Said,
    /// Where its records lie: they hold their offsets until all is told.
    pub positions: Vec<Position>,
    /// When the oldest of its messages was accepted.
    pub accepted_at: Option<TimeMs>,
    due_ms: u64,
    bytes: usize,
}

impl Window {
    fn belongs_to(&self, partitions: &[TopicPartition]) -> bool {
        self.positions.iter().any(|position| partitions.contains(&position.partition))
    }
}

/// All open windows, one per conversation.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    open: BTreeMap<ConversationId, Window>,
    bytes: usize,
}

impl Windows {
    /// Adds what a record says about a conversation.
    pub fn add(&mut self, record: &Record, changed: &ConversationChanged, tier: Tier, now_ms: u64) {
        let id = changed.conversation_id();
        let window = self.open.entry(id.clone()).or_insert_with(|| Window {
            conversation_id: id.clone(),
            tier,
            said: Said::default(),
            positions: Vec::new(),
            accepted_at: None,
            due_ms: now_ms + window_ms(tier),
            bytes: 0,
        });
        window.said.add(changed);
        window.positions.push(record.position);
        window.accepted_at = [window.accepted_at, record.accepted_at()].into_iter().flatten().min();
        let bytes = RECORD_BASE_BYTES + record.payload.len();
        window.bytes += bytes;
        self.bytes += bytes;
        if window.bytes >= CLOSE_AT_BYTES {
            window.due_ms = window.due_ms.min(now_ms);
        }
    }

    /// Is so much open that members must be told before more is taken in?
    pub fn is_full(&self) -> bool {
        self.open.len() > OPEN_AT_MOST || self.bytes > OPEN_BYTES_AT_MOST
    }

    /// At most `limit` windows whose time has come and which may start, the oldest first; when too much is open, the
    /// time of all of them has come.
    pub fn take_due(
        &mut self,
        now_ms: u64,
        limit: usize,
        mut may_start: impl FnMut(&Window) -> bool,
    ) -> Vec<Window> {
        let all = self.is_full();
        let mut due: Vec<(u64, ConversationId)> = self
            .open
            .values()
            .filter(|window| all || window.due_ms <= now_ms)
            .map(|window| (window.due_ms, window.conversation_id.clone()))
            .collect();
        due.sort_unstable();
        let mut taken = Vec::new();
        for (_, id) in due {
            if taken.len() == limit {
                break;
            }
            if self.open.get(&id).is_some_and(&mut may_start)
                && let Some(window) = self.open.remove(&id)
            {
                self.bytes -= window.bytes;
                taken.push(window);
            }
        }
        taken
    }

    /// The time of the windows of these partitions has come.
    pub fn close(&mut self, partitions: &[TopicPartition]) {
        for window in self.open.values_mut().filter(|window| window.belongs_to(partitions)) {
            window.due_ms = 0;
        }
    }

    /// Drops the windows of these partitions.
    pub fn forget(&mut self, partitions: &[TopicPartition]) {
        let dropped: Vec<Window> =
            self.open.extract_if(.., |_, window| window.belongs_to(partitions)).map(|(_, w)| w).collect();
        self.bytes -= dropped.iter().map(|window| window.bytes).sum::<usize>();
    }

    /// Is a window of these partitions open?
    pub fn has_of(&self, partitions: &[TopicPartition]) -> bool {
        self.open.values().any(|window| window.belongs_to(partitions))
    }

    /// When the next window is due.
    pub fn next_due_ms(&self) -> Option<u64> {
        self.open.values().map(|window| window.due_ms).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use readmark_domain::id::Seq;
    use readmark_events::{Topic, header_name};

    const PARTITION: TopicPartition = TopicPartition { topic: Topic::ConversationChanged, partition: 0 };

    fn record(offset: u64, bytes: usize, accepted_at_ms: Option<u64>) -> Record {
        let header = |ms: u64| (header_name::ACCEPTED_AT_MS.to_owned(), ms.to_string());
        Record {
            position: Position { partition: PARTITION, offset },
            appended_at: TimeMs::ZERO,
            key: None,
            payload: Bytes::from(vec![0; bytes]),
            headers: accepted_at_ms.map(header).into_iter().collect(),
        }
    }

    fn head(name: &str, n: u64) -> ConversationChanged {
        let conversation_id = ConversationId::new(name).unwrap();
        ConversationChanged::Head { conversation_id, head_seq: Seq::new(n).unwrap(), messages: vec![] }
    }

    fn names(windows: Vec<Window>) -> Vec<String> {
        windows.iter().map(|window| window.conversation_id.to_string()).collect()
    }

    #[test]
    fn a_small_group_waits_20_ms_and_a_larger_one_a_second_from_the_first_record() {
        let mut windows = Windows::default();
        windows.add(&record(1, 10, None), &head("large", 1), Tier::Large, 100);
        windows.add(&record(2, 10, Some(9)), &head("small", 1), Tier::Small, 100);
        windows.add(&record(3, 10, Some(7)), &head("small", 2), Tier::Small, 119);
        assert_eq!(windows.next_due_ms(), Some(120));
        assert!(windows.take_due(119, 9, |_| true).is_empty());
        let due = windows.take_due(120, 9, |_| true);
        assert_eq!(due[0].accepted_at.map(|at| at.get()), Some(7), "the oldest");
        assert_eq!((due[0].positions.len(), names(due)), (2, vec!["small".to_owned()]));
        assert_eq!(names(windows.take_due(1_100, 9, |_| true)), ["large"]);
        assert_eq!((windows.bytes, windows.open.len()), (0, 0));
    }

    #[test]
    fn one_that_may_not_start_goes_on_merging() {
        let mut windows = Windows::default();
        windows.add(&record(1, 10, None), &head("a", 1), Tier::Small, 0);
        windows.add(&record(2, 10, None), &head("b", 1), Tier::Small, 1);
        assert_eq!(names(windows.take_due(50, 9, |window| window.conversation_id.as_str() != "a")), ["b"]);
        windows.add(&record(3, 10, None), &head("a", 2), Tier::Small, 60);
        let due = windows.take_due(60, 9, |_| true);
        assert_eq!(due[0].positions.len(), 2);
    }

    #[test]
    fn many_bytes_close_a_window_and_too_many_all_of_them() {
        let mut windows = Windows::default();
        windows.add(&record(1, CLOSE_AT_BYTES, None), &head("a", 1), Tier::Large, 5);
        assert_eq!(windows.next_due_ms(), Some(5));
        for n in 0..OPEN_AT_MOST as u64 {
            windows.add(&record(2 + n, 10, None), &head(&format!("c{n}"), 1), Tier::Large, 5);
        }
        assert!(windows.is_full());
        assert_eq!(windows.take_due(5, 10_000, |_| true).len(), OPEN_AT_MOST + 1);
    }

    #[test]
    fn windows_of_a_partition_close_or_are_forgotten() {
        let mut windows = Windows::default();
        windows.add(&record(1, 10, None), &head("a", 1), Tier::Large, 5);
        assert!(windows.has_of(&[PARTITION]));
        windows.close(&[PARTITION]);
        assert_eq!(windows.next_due_ms(), Some(0));
        windows.forget(&[PARTITION]);
        assert!(!windows.has_of(&[PARTITION]) && windows.bytes == 0);
    }
}
