//! What a member's thread and its role have in common, under one lock: what the role is to hear, what it has stored
//! and what it has given back.

use super::names::record_bytes;
use super::options::{POLL_BYTES_MAX, POLL_RECORDS_MAX, WAITING_BYTES_MAX, WAITING_RECORDS_MAX};
use crate::error::{LogError, LogErrorKind};
use crate::port::PolledEvent;
use crate::record::{Offset, Record, TopicPartition};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Positions, each the next offset to handle.
pub(super) type Positions = Vec<(TopicPartition, Offset)>;

/// For how long after a membership was lost its commits may still reach the brokers: the client keeps a request for three
/// times the timeout of its sockets, and for a session when it knows no coordinator.
const LATE_COMMITS_WITHIN: Duration = Duration::from_secs(60);

/// One partition that is owned; positions are the next offset to handle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Place {
    /// What the role has stored, or the group was seen at when that was more.
    next: Option<Offset>,
    /// Where the group is, by what was sent or seen last; `None` when that is in doubt. Nobody is told how a commit ends: the
    /// client tells only those who wait for it.
    group_at: Option<Offset>,
    /// The client fetches nothing of it.
    is_paused: bool,
}

#[derive(Debug)]
pub(super) struct State {
    /// What the role hears before any record.
    news: VecDeque<Result<PolledEvent, LogError>>,
    batches: VecDeque<Vec<Record>>,
    /// What the poll that goes on has brought so far.
    arriving: Vec<Record>,
    waiting_records: usize,
    waiting_bytes: usize,
    /// Records of paused partitions that were fetched before the pause.
    held: Vec<Record>,
    places: BTreeMap<TopicPartition, Place>,
    /// When the membership was lost last, as long as that excuses a fence.
    lost_at: Option<Instant>,
    paused: BTreeSet<TopicPartition>,
    /// What the role was asked to give back and has not.
    asked_back: BTreeSet<TopicPartition>,
    /// Positions of what was given back, to be stored before it goes.
    last_positions: Positions,
    /// Since when this member has an empty share, as long as the role was not told.
    spare_since: Option<Instant>,
    /// When the role took something last.
    taken_at: Instant,
    /// The role has gone, or wants to.
    closing: bool,
    /// Why the thread has ended.
    ended: Option<LogError>,
}

pub(super) struct Handover {
    state: Mutex<State>,
    /// Wakes the role.
    news: Notify,
    /// Wakes the thread.
    taken: Condvar,
}

impl Handover {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                news: VecDeque::new(),
                batches: VecDeque::new(),
                arriving: Vec::new(),
                waiting_records: 0,
                waiting_bytes: 0,
                held: Vec::new(),
                places: BTreeMap::new(),
                lost_at: None,
                paused: BTreeSet::new(),
                asked_back: BTreeSet::new(),
                last_positions: Vec::new(),
                spare_since: None,
                taken_at: Instant::now(),
                closing: false,
                ended: None,
            }),
            news: Notify::new(),
            taken: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // ---- the role's side

    /// Resolves when there may be something to take.
    pub(super) async fn changed(&self) {
        self.news.notified().await;
    }

    pub(super) fn take(&self) -> Option<Result<PolledEvent, LogError>> {
        let mut state = self.lock();
        state.taken_at = Instant::now();
        let event = state.next_event();
        self.taken.notify_all();
        event
    }

    /// Keeps positions to be sent, all or none.
    pub(super) fn store(&self, positions: &[(TopicPartition, Offset)]) -> Result<(), LogError> {
        let mut state = self.lock();
        for (partition, _) in positions {
            if !state.places.contains_key(partition) {
                let detail = "this member does not own it";
                return Err(LogError::new("commit", LogErrorKind::NotOwner, detail).at_partition(*partition));
            }
        }
        for (partition, offset) in positions {
            if let Some(place) = state.places.get_mut(partition) {
                place.next = place.next.max(Some(*offset));
            }
        }
        Ok(())
    }

    pub(super) fn release(&self, partitions: &[TopicPartition]) {
        let mut state = self.lock();
        for partition in partitions {
            if state.asked_back.remove(partition) {
                state.give_up(*partition);
            }
        }
        self.taken.notify_all();
    }

    pub(super) fn pause(&self, partitions: &[TopicPartition]) {
        let mut state = self.lock();
        let owned: Vec<_> = partitions.iter().filter(|one| state.places.contains_key(one)).copied().collect();
        state.paused.extend(owned);
        self.taken.notify_all();
    }

    pub(super) fn resume(&self, partitions: &[TopicPartition]) {
        let mut state = self.lock();
        for partition in partitions {
            state.paused.remove(partition);
        }
        let held = std::mem::take(&mut state.held);
        let (due, held): (Vec<_>, Vec<_>) =
            held.into_iter().partition(|record| !state.paused.contains(&record.position.partition));
        state.held = held;
        if !due.is_empty() {
            state.batches.push_front(due);
        }
        self.taken.notify_all();
    }

    pub(super) fn close(&self) {
        self.lock().closing = true;
        self.taken.notify_all();
    }

    // ---- the thread's side

    pub(super) fn is_closing(&self) -> bool {
        self.lock().closing
    }

    /// How long the role has taken nothing.
    pub(super) fn silent_for(&self) -> Duration {
        self.lock().taken_at.elapsed()
    }

    pub(super) fn is_full(&self) -> bool {
        let state = self.lock();
        state.waiting_records >= WAITING_RECORDS_MAX || state.waiting_bytes >= WAITING_BYTES_MAX
    }

    /// Waits until the role does something, but not longer than that.
    pub(super) fn wait(&self, at_most: Duration) {
        let state = self.lock();
        drop(self.taken.wait_timeout(state, at_most));
    }

    /// A record that was polled. It waits here for the rest of its batch, not with the thread: a rebalance is called from
    /// within the same poll, and what goes with it must not reach the role afterwards.
    pub(super) fn arrived(&self, record: Record) {
        self.lock().arriving.push(record);
    }

    /// The poll is over: what has arrived and is still owned is for the role.
    pub(super) fn hand_over(&self) {
        let mut state = self.lock();
        let records = std::mem::take(&mut state.arriving);
        if records.is_empty() {
            return;
        }
        state.waiting_records += records.len();
        state.waiting_bytes += records.iter().map(record_bytes).sum::<usize>();
        state.batches.push_back(records);
        self.news.notify_one();
    }

    pub(super) fn fail(&self, error: LogError) {
        let mut state = self.lock();
        // The same failure again is no news; bounds the queue, too.
        if !state.news.iter().any(Result::is_err) {
            state.news.push_back(Err(error));
        }
        self.news.notify_one();
    }

    /// Nothing will come any more.
    pub(super) fn end(&self, error: LogError) {
        self.lock().ended = Some(error);
        self.news.notify_one();
    }

    /// An empty share is not told yet: most often it means that others must first give back what is this member's.
    pub(super) fn assigned(&self, partitions: Vec<TopicPartition>) {
        let mut state = self.lock();
        // What was sent while the group settled may have been refused.
        state.doubt_all();
        if partitions.is_empty() {
            if state.places.is_empty() {
                state.spare_since.get_or_insert_with(Instant::now);
            }
            return;
        }
        state.spare_since = None;
        for partition in &partitions {
            state.places.insert(*partition, Place::default());
        }
        state.news.push_back(Ok(PolledEvent::Assigned(partitions)));
        self.news.notify_one();
    }

    /// Tells an empty share that has lasted so long: then there are more members than partitions.
    pub(super) fn tell_if_spare(&self, after: Duration) {
        let mut state = self.lock();
        if state.spare_since.is_some_and(|since| since.elapsed() >= after) {
            state.spare_since = None;
            state.news.push_back(Ok(PolledEvent::Assigned(Vec::new())));
            self.news.notify_one();
        }
    }

    /// The membership is over, and what it owned with it.
    pub(super) fn lost(&self, partitions: Vec<TopicPartition>) {
        let mut state = self.lock();
        state.lost_at = Some(Instant::now());
        state.lose(partitions);
        self.news.notify_one();
    }

    /// Asks the role to give these back and waits for it, at most that long. What it keeps beyond is lost to it.
    /// Gives the positions to be stored now: those of all the partitions.
    pub(super) fn ask_back(&self, partitions: Vec<TopicPartition>, within: Duration) -> Positions {
        let deadline = Instant::now() + within;
        let mut state = self.lock();
        state.forget_records(&partitions);
        state.asked_back.extend(partitions.iter().copied());
        state.news.push_back(Ok(PolledEvent::Revoked(partitions)));
        self.news.notify_one();
        while !state.asked_back.is_empty() && !state.closing {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.taken.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let kept: Vec<TopicPartition> = std::mem::take(&mut state.asked_back).into_iter().collect();
        if !kept.is_empty() && !state.closing {
            tracing::warn!(count = kept.len(), "partitions not given back in time are taken");
        }
        for partition in &kept {
            state.give_up(*partition);
        }
        let positions = std::mem::take(&mut state.last_positions);
        if !kept.is_empty() {
            // One of them may not have been told yet: then it is enough to say that it is lost.
            for told in state.news.iter_mut().flatten() {
                if let PolledEvent::Revoked(partitions) = told {
                    partitions.retain(|partition| !kept.contains(partition));
                }
            }
            state.news.retain(|told| !matches!(told, Ok(PolledEvent::Revoked(left)) if left.is_empty()));
            state.lose(kept);
            self.news.notify_one();
        }
        positions
    }

    /// Which of these are owned.
    pub(super) fn owned(&self, mut partitions: Vec<TopicPartition>) -> Vec<TopicPartition> {
        let state = self.lock();
        partitions.retain(|partition| state.places.contains_key(partition));
        partitions
    }

    /// Everything that is owned.
    pub(super) fn all_owned(&self) -> Vec<TopicPartition> {
        self.lock().places.keys().copied().collect()
    }

    /// Positions that the group does not know yet; they count as sent.
    pub(super) fn to_send(&self) -> Positions {
        let mut state = self.lock();
        let mut positions = Positions::new();
        for (partition, place) in &mut state.places {
            if let Some(next) = place.next.filter(|_| place.group_at < place.next) {
                place.group_at = place.next;
                positions.push((*partition, next));
            }
        }
        positions
    }

    /// These did not reach the group: they are sent again, if they are still the newest.
    pub(super) fn not_sent(&self) {
        self.lock().doubt_all();
    }

    /// Where the group is. Less than was sent is told it again: a commit was refused because the group was just changing
    /// hands, or one that had been held back came late and set it back.
    pub(super) fn group_is_at(&self, positions: &[(TopicPartition, Offset)]) {
        let mut state = self.lock();
        for (partition, at) in positions {
            let Some(place) = state.places.get_mut(partition) else { continue };
            if let Some(sent) = place.group_at.filter(|sent| at < sent) {
                tracing::info!(%partition, at, sent, "the group is behind, sending its position again");
            }
            place.next = place.next.max(Some(*at));
            place.group_at = Some(*at);
        }
    }

    /// May it be a commit of this client's own former membership that the brokers have taken for another member's? Then all
    /// that it owns is lost. A loss excuses one fence.
    pub(super) fn lose_to_own_commit(&self) -> bool {
        let mut state = self.lock();
        let is_late = state.lost_at.take().is_some_and(|at| at.elapsed() < LATE_COMMITS_WITHIN);
        if is_late {
            let owned = state.places.keys().copied().collect();
            state.lose(owned);
            self.news.notify_one();
        }
        is_late
    }

    /// All positions, for the last commit of a member that leaves.
    pub(super) fn stored(&self) -> Positions {
        let state = self.lock();
        state.places.iter().filter_map(|(partition, place)| Some((*partition, place.next?))).collect()
    }

    /// What the client must pause and resume, so that nothing is fetched of what the role has paused, or of anything while
    /// it does not keep up.
    pub(super) fn to_pause_and_resume(&self, is_full: bool) -> (Vec<TopicPartition>, Vec<TopicPartition>) {
        let state = self.lock();
        let wanted = |partition: &TopicPartition| is_full || state.paused.contains(partition);
        let due = state.places.iter().filter(|(partition, place)| place.is_paused != wanted(partition));
        due.map(|(partition, _)| *partition).partition(wanted)
    }

    /// The client has paused these, or resumed them.
    pub(super) fn note_paused(&self, partitions: &[TopicPartition], is_paused: bool) {
        let mut state = self.lock();
        for partition in partitions {
            if let Some(place) = state.places.get_mut(partition) {
                place.is_paused = is_paused;
            }
        }
    }
}

impl State {
    fn next_event(&mut self) -> Option<Result<PolledEvent, LogError>> {
        if let Some(news) = self.news.pop_front() {
            return Some(news);
        }
        // A role's turn costs round trips to the store, however few records it has: what waits goes together.
        let (mut due, mut due_bytes) = (Vec::new(), 0);
        while let Some(batch) = self.batches.front() {
            let bytes: usize = batch.iter().map(record_bytes).sum();
            let is_enough = due.len() + batch.len() > POLL_RECORDS_MAX || due_bytes + bytes > POLL_BYTES_MAX;
            if !due.is_empty() && is_enough {
                break;
            }
            let Some(records) = self.batches.pop_front() else { break };
            self.waiting_records = self.waiting_records.saturating_sub(records.len());
            self.waiting_bytes = self.waiting_bytes.saturating_sub(bytes);
            due_bytes += bytes;
            let (paused, records): (Vec<_>, Vec<_>) =
                records.into_iter().partition(|record| self.paused.contains(&record.position.partition));
            self.held.extend(paused);
            due.extend(records);
        }
        if !due.is_empty() {
            return Some(Ok(PolledEvent::Records(due)));
        }
        self.ended.clone().map(Err)
    }

    /// Ends the ownership; what was stored under it is still to be sent.
    fn give_up(&mut self, partition: TopicPartition) {
        self.paused.remove(&partition);
        if let Some(place) = self.places.remove(&partition)
            && let Some(next) = place.next
        {
            self.last_positions.push((partition, next));
        }
    }

    fn doubt_all(&mut self) {
        for place in self.places.values_mut() {
            place.group_at = None;
        }
    }

    fn lose(&mut self, partitions: Vec<TopicPartition>) {
        self.forget_records(&partitions);
        for partition in &partitions {
            self.places.remove(partition);
            self.paused.remove(partition);
            self.asked_back.remove(partition);
        }
        if !partitions.is_empty() {
            self.news.push_back(Ok(PolledEvent::Lost(partitions)));
        }
    }

    /// Drops records that nobody has seen: whoever gets the partition gets them again.
    fn forget_records(&mut self, partitions: &[TopicPartition]) {
        let is_kept = |record: &Record| !partitions.contains(&record.position.partition);
        self.held.retain(is_kept);
        self.arriving.retain(is_kept);
        for batch in &mut self.batches {
            batch.retain(is_kept);
        }
        self.batches.retain(|batch| !batch.is_empty());
        self.waiting_records = self.batches.iter().map(Vec::len).sum();
        self.waiting_bytes = self.batches.iter().flatten().map(record_bytes).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Position;
    use bytes::Bytes;
    use readmark_domain::time::TimeMs;
    use readmark_events::Topic;

    fn record(partition: u32, offset: Offset) -> Record {
        let partition = TopicPartition { topic: Topic::Acks, partition };
        Record {
            position: Position { partition, offset },
            appended_at: TimeMs::default(),
            key: None,
            payload: Bytes::new(),
            headers: Vec::new(),
        }
    }

    fn taken(handover: &Handover) -> Vec<(u32, Offset)> {
        match handover.take() {
            Some(Ok(PolledEvent::Records(records))) => records
                .iter()
                .map(|record| (record.position.partition.partition, record.position.offset))
                .collect(),
            None => Vec::new(),
            other => panic!("{other:?}"),
        }
    }

    fn hand_over(handover: &Handover, records: impl IntoIterator<Item = Record>) {
        records.into_iter().for_each(|record| handover.arrived(record));
        handover.hand_over();
    }

    /// Else the role would hold, and try to store, positions of what is not its own, and none of its own with them.
    #[test]
    fn what_arrived_before_a_rebalance_goes_with_its_partition() {
        let at = |partition| TopicPartition { topic: Topic::Acks, partition };
        let handover = Handover::new();
        handover.assigned(vec![at(0), at(1), at(2)]);
        assert!(matches!(handover.take(), Some(Ok(PolledEvent::Assigned(_)))));
        for partition in [0, 1, 2] {
            handover.arrived(record(partition, 7));
        }
        handover.ask_back(vec![at(0)], Duration::ZERO);
        handover.lost(vec![at(1)]);
        handover.arrived(record(2, 8));
        handover.hand_over();
        while let Some(event) = handover.take() {
            if let PolledEvent::Records(records) = event.unwrap() {
                let places =
                    records.iter().map(|one| (one.position.partition.partition, one.position.offset));
                assert_eq!(places.collect::<Vec<_>>(), [(2, 7), (2, 8)]);
                return;
            }
        }
        panic!("nothing was handed over");
    }

    /// Whoever waits for a position, waits for the group's.
    #[test]
    fn positions_are_sent_until_the_group_has_them() {
        let at = |partition| TopicPartition { topic: Topic::Acks, partition };
        let handover = Handover::new();
        handover.assigned(vec![at(0), at(1), at(2)]);
        assert!(handover.to_send().is_empty(), "the role has stored none");
        handover.store(&[(at(0), 5), (at(1), 7)]).unwrap();
        assert_eq!(handover.to_send(), [(at(0), 5), (at(1), 7)]);
        assert!(handover.to_send().is_empty());
        handover.group_is_at(&[(at(0), 5), (at(1), 3), (at(2), 9)]);
        assert_eq!(handover.to_send(), [(at(1), 7)], "one came late or was refused");
        handover.group_is_at(&[(at(1), 7), (at(2), 4)]);
        assert_eq!(handover.to_send(), [(at(2), 9)], "where this owner began");
        handover.store(&[(at(2), 6)]).unwrap();
        assert!(handover.to_send().is_empty(), "it never falls");
        handover.lost(vec![at(0)]);
        handover.assigned(vec![at(3)]);
        assert_eq!(
            handover.to_send(),
            [(at(1), 7), (at(2), 9)],
            "what is owned, once more after a change of the group"
        );
    }

    #[test]
    fn small_batches_that_wait_go_together_within_the_bound() {
        let handover = Handover::new();
        for offset in 0..600 {
            hand_over(&handover, [record(0, offset)]);
        }
        let first: Vec<_> = (0..500).map(|offset| (0, offset)).collect();
        assert_eq!(taken(&handover), first);
        assert_eq!(taken(&handover).len(), 100);
        assert!(taken(&handover).is_empty());
        assert!(!handover.is_full());
    }

    #[test]
    fn an_empty_share_is_told_when_it_lasts() {
        let handover = Handover::new();
        handover.tell_if_spare(Duration::ZERO);
        assert!(handover.take().is_none(), "the group has not answered");
        handover.assigned(Vec::new());
        handover.tell_if_spare(Duration::from_secs(3_600));
        assert!(handover.take().is_none());
        handover.tell_if_spare(Duration::ZERO);
        assert!(matches!(handover.take(), Some(Ok(PolledEvent::Assigned(share))) if share.is_empty()));
        handover.assigned(Vec::new());
        handover.assigned(vec![TopicPartition { topic: Topic::Acks, partition: 0 }]);
        handover.assigned(Vec::new());
        handover.tell_if_spare(Duration::ZERO);
        assert!(matches!(handover.take(), Some(Ok(PolledEvent::Assigned(share))) if share.len() == 1));
        assert!(handover.take().is_none(), "nothing more is no news");
    }

    #[test]
    fn a_paused_partition_waits_and_keeps_its_order() {
        let handover = Handover::new();
        let partitions: Vec<_> =
            [0, 1].map(|partition| TopicPartition { topic: Topic::Acks, partition }).to_vec();
        handover.assigned(partitions.clone());
        assert!(matches!(handover.take(), Some(Ok(PolledEvent::Assigned(_)))));
        handover.pause(&partitions[..1]);
        hand_over(&handover, [record(0, 1), record(1, 1)]);
        hand_over(&handover, [record(0, 2)]);
        assert_eq!(taken(&handover), [(1, 1)]);
        handover.resume(&partitions[..1]);
        hand_over(&handover, [record(0, 3)]);
        assert_eq!(taken(&handover), [(0, 1), (0, 2), (0, 3)]);
    }
}
