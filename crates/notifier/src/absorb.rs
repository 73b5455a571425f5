//! Records taken over: decoded, then told at once (marks and tallies of one user) or merged into windows.

use crate::fan_out::FanOut;
use crate::groups::OfLarge;
use crate::reads::Reads;
use crate::role::Notifier;
use crate::tell::TOLD_AT_ONCE;
use crate::windows::Window;
use readmark_domain::id::ConversationId;
use readmark_events::{ConversationChanged, ReadChanged, Topic, decode};
use readmark_log::{Position, Record};
use readmark_runtime::dead_letter::{DeadLetter, Reason};
use readmark_runtime::role::RoleError;
use std::collections::BTreeSet;

/// Records of conversations merged before it is looked whether windows are full.
const RECORDS_PER_SLICE: usize = 512;
/// Windows that become fan-outs in one round: their members may have to be read first.
const STARTED_PER_ROUND: usize = 64;

impl Notifier {
    /// Takes records over; their offsets are held until everybody is told.
    pub(crate) async fn take_in(&mut self, records: Vec<Record>) -> Result<(), RoleError> {
        let log = &*self.ports.log;
        let gone = self.continuity.take_in(log, &self.retrier, &records).await?;
        self.renew(gone).await?;
        let (mut reads, mut read_positions) = (Reads::default(), Vec::new());
        let (mut changes, mut letters) = (Vec::new(), Vec::new());
        for record in records {
            self.progress.hold(record.position);
            let key = record.key.as_deref();
            if record.position.partition.topic == Topic::ReadChanged {
                match decode::<ReadChanged>(key, &record.payload) {
                    Ok(changed) => {
                        reads.add(&record, changed);
                        read_positions.push(record.position);
                    }
                    Err(error) => letters.push(DeadLetter { record, reason: Reason::from(error) }),
                }
            } else {
                match decode::<ConversationChanged>(key, &record.payload) {
                    Ok(changed) => changes.push((record, changed)),
                    Err(error) => letters.push(DeadLetter { record, reason: Reason::from(error) }),
                }
            }
        }
        self.dead_letters.bury(&letters, &mut self.progress).await?;
        self.tell_reads(reads, read_positions).await?;
        self.merge(changes).await
    }

    /// Facts of one user: nobody waits behind them.
    async fn tell_reads(&mut self, reads: Reads, positions: Vec<Position>) -> Result<(), RoleError> {
        for changes in reads.changes().chunks(TOLD_AT_ONCE) {
            self.teller.changes(changes).await?;
        }
        let (tallies, accepted) = reads.tallies();
        for (tallies, accepted) in tallies.chunks(TOLD_AT_ONCE).zip(accepted.chunks(TOLD_AT_ONCE)) {
            let told = self.teller.tallies(tallies).await?;
            let now = self.ports.clock.now();
            for (told, accepted) in told.into_iter().zip(accepted) {
                if let (Some(told), Some((at, tier))) = (told, accepted)
                    && told.appended > 0
                {
                    let seconds = now.since_ms(*at) as f64 / 1_000.0;
                    self.metrics.ack_to_push_seconds.with_label_values(&[tier.as_str()]).observe(seconds);
                }
            }
        }
        for position in positions {
            self.progress.release(position);
        }
        Ok(())
    }

    async fn merge(&mut self, mut changes: Vec<(Record, ConversationChanged)>) -> Result<(), RoleError> {
        while !changes.is_empty() {
            let rest = changes.split_off(changes.len().min(RECORDS_PER_SLICE));
            let slice = std::mem::replace(&mut changes, rest);
            self.groups.meet(slice.iter().map(|(_, changed)| changed.conversation_id())).await?;
            for (record, changed) in slice {
                self.merge_one(&record, &changed);
            }
            while self.windows.is_full() {
                self.round().await?;
            }
        }
        Ok(())
    }

    fn merge_one(&mut self, record: &Record, changed: &ConversationChanged) {
        let id = changed.conversation_id();
        match changed {
            // The mode is told with each tally.
            ConversationChanged::Policy { .. } => return self.progress.release(record.position),
            ConversationChanged::Roster { .. } => self.groups.doubt(id),
            ConversationChanged::Head { .. }
            | ConversationChanged::Uncounted { .. }
            | ConversationChanged::Closed { .. } => {}
        }
        let (tier, now_ms) = (self.groups.tier(id), self.ports.clock.elapsed_ms());
        self.windows.add(record, changed, tier, now_ms);
    }

    /// Tells some users more of what is due: of each conversation a slice in its turn.
    pub(crate) async fn round(&mut self) -> Result<(), RoleError> {
        self.start_due().await?;
        let pieces = self.fan_outs.next_round();
        let changes: Vec<_> = pieces.iter().map(|piece| piece.told.clone()).collect();
        let told = self.teller.changes(&changes).await?;
        let mut seen: BTreeSet<ConversationId> = BTreeSet::new();
        let mut joined = Vec::new();
        for (piece, told) in pieces.into_iter().zip(told) {
            let Some(told) = told else { continue };
            if told.appended > 0 {
                seen.insert(piece.told.conversation_id.clone());
            }
            if piece.joined {
                joined.push(piece.told);
            }
        }
        self.teller.whole(joined).await?;
        self.fan_outs.note_seen(&seen);
        for ended in self.fan_outs.take_ended() {
            self.finish(ended);
        }
        self.metrics.fan_outs.set(i64::try_from(self.fan_outs.len()).unwrap_or(i64::MAX));
        Ok(())
    }

    async fn start_due(&mut self) -> Result<(), RoleError> {
        let (now_ms, fan_outs) = (self.ports.clock.elapsed_ms(), &self.fan_outs);
        let due = self.windows.take_due(now_ms, STARTED_PER_ROUND, |window| fan_outs.may_start(window));
        let of_large = |window: &Window| {
            let everybody = window.said.concerns_all() || !self.announced.contains(&window.conversation_id);
            if everybody { OfLarge::Members } else { OfLarge::Nobody }
        };
        let wanted = due.iter().map(|window| (window.conversation_id.clone(), of_large(window))).collect();
        let groups = self.groups.look_up(wanted).await?;
        for (window, group) in due.into_iter().zip(groups) {
            let announces = group.is_large && !self.announced.contains(&window.conversation_id);
            self.fan_outs.start(FanOut::new(window, group.is_large, group.members, announces));
        }
        Ok(())
    }

    fn finish(&mut self, ended: FanOut) {
        if ended.announces {
            self.announced.put(ended.conversation_id, ());
        }
        if let Some(accepted_at) = ended.accepted_at.filter(|_| ended.is_seen) {
            let ms = self.ports.clock.now().since_ms(accepted_at);
            self.metrics.message_to_unread_seconds.observe(ms as f64 / 1_000.0);
        }
        for position in ended.positions {
            self.progress.release(position);
        }
    }
}
