//! Letters taken over, and a round: what is due is delivered again, or buried.

use crate::open::{Matter, Waiting, spans};
use crate::role::Janitor;
use readmark_domain::dead_letter::{Actor, LetterId, LetterState, Outcome, Resolution, Step, next_step};
use readmark_events::{RedeliveredBy, Topic};
use readmark_log::{LogErrorKind, NewRecord, Position, Record, TopicPartition};
use readmark_repair::Letter;
use readmark_runtime::role::RoleError;
use std::collections::BTreeMap;

/// Pause between two rounds. With the next bound it is also how fast letters are delivered again: fast enough for
/// what an hour of failures leaves, slow enough for the roles beside the live traffic.
const ROUND_EVERY_MS: u64 = 1_000;
/// Records delivered again in a round.
const MATTERS_PER_ROUND: usize = 200;
/// Offsets looked at in one read of the log or the store; the log bounds the bytes.
const SPAN_OFFSETS: u64 = 500;
/// Rows looked at in a round to count what is buried.
const ROWS_PER_ROUND: usize = 5_000;

/// A matter that is due: the letter that speaks for it, and all of its letters that are open.
struct Due {
    speaker: Position,
    letters: Vec<(Waiting, Option<Resolution>)>,
}

fn id_of(position: Position) -> LetterId {
    LetterId { partition: position.partition.partition, offset: position.offset }
}

const fn in_topic(partition: u32) -> TopicPartition {
    TopicPartition { topic: Topic::DeadLetters, partition }
}

impl Janitor {
    /// Takes letters over; those that are open hold their offsets.
    pub(crate) async fn take_in(&mut self, records: Vec<Record>) -> Result<(), RoleError> {
        let known = self.resolutions(records.iter().map(|record| record.position)).await?;
        for record in records {
            let position = record.position;
            self.progress.hold(position);
            let letter = Letter::read(record);
            match LetterState::of(known.get(&letter.id()).copied(), letter.failed_at()) {
                LetterState::Open => self.open.add(waiting(position, &letter)),
                LetterState::Redelivered | LetterState::Dropped | LetterState::Buried => {
                    self.progress.release(position);
                }
            }
        }
        self.show();
        Ok(())
    }

    /// A round, when it is time for one.
    pub(crate) async fn round_when_due(&mut self) -> Result<(), RoleError> {
        if self.ports.clock.elapsed_ms() < self.next_round_ms {
            return Ok(());
        }
        let due = self.open.take_due(self.ports.clock.now(), MATTERS_PER_ROUND);
        let due = self.leave_out_settled(due).await?;
        self.work_off(due).await?;
        self.count_buried().await?;
        self.show();
        self.next_round_ms = self.ports.clock.elapsed_ms() + ROUND_EVERY_MS;
        Ok(())
    }

    /// Leaves out what an operator, or another janitor, has seen to meanwhile.
    async fn leave_out_settled(&mut self, due: Vec<Vec<Waiting>>) -> Result<Vec<Due>, RoleError> {
        let positions = due.iter().flatten().map(|waiting| waiting.position);
        let known = self.resolutions(positions).await?;
        let mut open = Vec::new();
        for matter in due {
            let mut letters = Vec::new();
            for waiting in matter {
                let resolution = known.get(&id_of(waiting.position)).copied();
                match LetterState::of(resolution, waiting.failed_at) {
                    LetterState::Open => letters.push((waiting, resolution)),
                    LetterState::Redelivered | LetterState::Dropped | LetterState::Buried => {
                        self.progress.release(waiting.position);
                    }
                }
            }
            let speaker = letters.iter().max_by_key(|(waiting, _)| (waiting.attempts, waiting.position));
            if let Some(speaker) = speaker.map(|(waiting, _)| waiting.position) {
                open.push(Due { speaker, letters });
            }
        }
        Ok(open)
    }

    /// Reads the letters that speak for what is due, a page at a time, and does what is to be done.
    async fn work_off(&mut self, due: Vec<Due>) -> Result<(), RoleError> {
        let mut by_speaker: BTreeMap<Position, Due> =
            due.into_iter().map(|matter| (matter.speaker, matter)).collect();
        let speakers: Vec<Position> = by_speaker.keys().copied().collect();
        for span in spans(speakers, SPAN_OFFSETS) {
            let (at, mut next) = (in_topic(span.partition), span.first);
            while next <= span.last {
                let most = usize::try_from(span.last - next + 1).unwrap_or(usize::MAX);
                let page = self.retrier.run(|| self.ports.log.read(at, next, most)).await?;
                let Some(last) = page.last() else { break };
                next = last.position.offset + 1;
                let letters = page.into_iter().filter_map(|record| {
                    by_speaker.remove(&record.position).map(|matter| (Letter::read(record), matter))
                });
                let letters: Vec<_> = letters.collect();
                self.deliver_or_bury(letters).await?;
            }
        }
        // What the log does not hold any more needs nothing more.
        for (waiting, _) in by_speaker.into_values().flat_map(|matter| matter.letters) {
            self.progress.release(waiting.position);
        }
        Ok(())
    }

    async fn deliver_or_bury(&mut self, letters: Vec<(Letter, Due)>) -> Result<(), RoleError> {
        let (mut to_deliver, mut to_bury) = (Vec::new(), Vec::new());
        for (letter, matter) in letters {
            let redelivery = match next_step(letter.failure()) {
                Step::RedeliverAt(_) => letter.redelivery(RedeliveredBy::Janitor),
                Step::Bury => None,
            };
            match redelivery {
                Some(record) => to_deliver.push((record, letter, matter)),
                None => to_bury.push((letter, matter)),
            }
        }
        let (delivered, refused) = self.deliver(to_deliver).await?;
        self.metrics.redelivered_total.inc_by(delivered.len() as u64);
        self.note(delivered, Outcome::Redelivered).await?;
        to_bury.extend(refused);
        for (letter, matter) in &to_bury {
            tell_buried(letter);
            for (waiting, _) in &matter.letters {
                self.buried.add(waiting.position.partition.partition);
            }
        }
        self.note(to_bury.into_iter().map(|(_, matter)| matter).collect(), Outcome::Buried).await
    }

    /// Delivers; gives back what was delivered, and what the log refuses for ever.
    #[allow(clippy::type_complexity, reason = "two lists of one call")]
    async fn deliver(
        &self,
        letters: Vec<(NewRecord, Letter, Due)>,
    ) -> Result<(Vec<Due>, Vec<(Letter, Due)>), RoleError> {
        if letters.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        let records: Vec<NewRecord> = letters.iter().map(|(record, ..)| record.clone()).collect();
        if self.append(records).await? {
            return Ok((letters.into_iter().map(|(_, _, matter)| matter).collect(), Vec::new()));
        }
        // One that is refused must not hold the others up.
        let (mut delivered, mut refused) = (Vec::new(), Vec::new());
        for (record, letter, matter) in letters {
            match self.append(vec![record]).await? {
                true => delivered.push(matter),
                false => refused.push((letter, matter)),
            }
        }
        Ok((delivered, refused))
    }

    /// Appends; `false` when the log refuses that for ever.
    async fn append(&self, records: Vec<NewRecord>) -> Result<bool, RoleError> {
        match self.retrier.run(|| self.ports.log.append(records.clone())).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind == LogErrorKind::Refused => {
                tracing::warn!(role = Self::NAME, %error, "not delivered again");
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Notes what was done, then lets the offsets go.
    async fn note(&mut self, matters: Vec<Due>, outcome: Outcome) -> Result<(), RoleError> {
        let now = self.ports.clock.now();
        let letters: Vec<(Waiting, Option<Resolution>)> =
            matters.into_iter().flat_map(|matter| matter.letters).collect();
        let resolutions = letters.iter().map(|(waiting, known)| {
            let resolution = Resolution::after(*known, waiting.failed_at, now, outcome, Actor::Janitor);
            (id_of(waiting.position), resolution)
        });
        let resolutions: Vec<_> = resolutions.collect();
        let store = &self.ports.store;
        if !resolutions.is_empty() {
            self.retrier.run(|| store.resolve_dead_letters(&resolutions)).await?;
        }
        for (waiting, _) in letters {
            self.progress.release(waiting.position);
        }
        Ok(())
    }

    /// What was done about these letters, as far as anything was.
    async fn resolutions(
        &self,
        positions: impl IntoIterator<Item = Position>,
    ) -> Result<BTreeMap<LetterId, Resolution>, RoleError> {
        let mut known = BTreeMap::new();
        for span in spans(positions, SPAN_OFFSETS) {
            let (store, most) = (&self.ports.store, usize::try_from(SPAN_OFFSETS).unwrap_or(usize::MAX));
            let read = || store.resolutions(span.partition, span.first, span.last, most);
            known.extend(self.retrier.run(read).await?);
        }
        Ok(known)
    }

    /// Goes on counting what is buried.
    async fn count_buried(&mut self) -> Result<(), RoleError> {
        let Some(next) = self.buried.next(self.ports.clock.elapsed_ms()) else { return Ok(()) };
        let (at, store) = (in_topic(next.partition), &self.ports.store);
        let end = self.retrier.run(|| self.ports.log.end_offset(at)).await?;
        let last = end.saturating_sub(1);
        let rows =
            self.retrier.run(|| store.resolutions(next.partition, next.from, last, ROWS_PER_ROUND)).await?;
        let from = rows.last().map_or(end, |(id, _)| id.offset + 1);
        let done = rows.len() < ROWS_PER_ROUND;
        let rows: Vec<Resolution> = rows.into_iter().map(|(_, resolution)| resolution).collect();
        self.buried.counted(&rows, from, done, self.ports.clock.elapsed_ms());
        Ok(())
    }
}

fn waiting(position: Position, letter: &Letter) -> Waiting {
    let failure = letter.failure();
    let due_at = match next_step(failure) {
        Step::RedeliverAt(at) => at,
        Step::Bury => letter.failed_at(),
    };
    let matter =
        letter.headers.as_ref().map(|headers| Matter { source: headers.source, role: headers.role.clone() });
    Waiting { position, matter, attempts: failure.attempts, failed_at: letter.failed_at(), due_at }
}

/// The log line and the alert of one happening.
fn tell_buried(letter: &Letter) {
    let id = letter.id();
    match &letter.headers {
        Some(headers) => tracing::error!(
            letter = %id, reason = headers.reason, detail = headers.detail, of_role = headers.role,
            topic = %headers.source.topic, partition = headers.source.partition, offset = headers.source.offset,
            attempts = headers.attempts,
            "a dead letter is buried: `readmark dead-letters show {id}`"
        ),
        None => tracing::error!(
            letter = %id,
            "a dead letter is buried: it does not say where it comes from; `readmark dead-letters show {id}`"
        ),
    }
}
