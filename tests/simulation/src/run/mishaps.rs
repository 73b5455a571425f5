//! What goes wrong in the wild part of a run.

use super::{CRASHES, Run};
use crate::tap::RoleKind;
use crate::told::now;
use crate::world::State;
use readmark_domain::id::ConversationId;
use readmark_events::Topic;
use readmark_hot::HotState;
use readmark_log::TopicPartition;
use readmark_store::ConversationStore;

impl Run {
    pub(super) fn disturbed(&self) -> bool {
        self.crashes < CRASHES && self.world.state().rng.below(1_000) < self.wildness.disturb_permille
    }

    pub(super) fn slowed(&self) -> bool {
        self.slow.is_none_or(|(_, until)| self.steps >= until) && self.world.state().rng.below(1_000) < 8
    }

    /// A member is slow for a while: none of its calls passes.
    pub(super) fn slow_down(&mut self) {
        if self.tasks.is_empty() {
            return;
        }
        let (at, steps) = {
            let rng = &mut self.world.state().rng;
            (rng.index(self.tasks.len()), rng.pick(&[20, 80, 250, 600]))
        };
        let id = self.tasks[at].id;
        self.world.note(|| format!("task {id} is slow for {steps} steps"));
        self.slow = Some((id, self.steps + steps));
    }

    /// Crashes a member, cuts it off, stops it, or takes partitions from it.
    pub(super) fn disturb(&mut self) {
        if self.tasks.is_empty() {
            return;
        }
        self.crashes += 1;
        let (at, roll, calls) = {
            let rng = &mut self.world.state().rng;
            (rng.index(self.tasks.len()), rng.below(100), rng.within(1, 25))
        };
        let (id, role) = (self.tasks[at].id, self.tasks[at].role);
        match roll {
            0..40 => {
                self.world.note(|| format!("CRASH of task {id} {role:?}"));
                self.drop_task(at);
            }
            40..75 => {
                self.world.note(|| format!("task {id} {role:?} is cut off for {calls} calls"));
                self.tasks[at].zombie_calls = Some(calls);
                self.world.state().log.make_zombie(id);
            }
            75..83 => {
                self.world.note(|| format!("task {id} {role:?} is stopped"));
                self.tasks[at].stop.cancel();
            }
            _ => {
                self.world.note(|| format!("task {id} {role:?} loses partitions"));
                let mut state = self.world.state();
                let State { log, rng, .. } = &mut *state;
                log.lose(id, rng, 60);
            }
        }
    }

    /// Does a device sync now?
    pub(super) fn syncs(&self) -> bool {
        self.world.state().rng.below(1_000) < self.wildness.sync_permille
    }

    /// Something rare happens now and then; says whether it did.
    pub(super) fn mishap(&mut self) -> bool {
        let roll = self.world.state().rng.below(10_000);
        match roll {
            0..5 if self.wildness.grows => self.grow(),
            5..8 if self.wildness.expires => self.expire_records(),
            10.. if roll - 10 < self.wildness.hot_loss_per_10_000 => self.lose_hot_state(),
            _ => return false,
        }
        true
    }

    /// The hot state loses what it has, of one user or of all.
    fn lose_hot_state(&self) {
        let (of_all, uid) = {
            let mut state = self.world.state();
            let State { rng, devices, .. } = &mut *state;
            (rng.chance(50), devices[rng.index(devices.len())].uid)
        };
        let lost = if of_all { self.world.hot.forget_all() } else { self.world.hot.forget(uid) };
        let _ = now(lost);
        self.world.note(|| {
            format!("the hot state of {} is LOST", if of_all { "all".to_owned() } else { uid.to_string() })
        });
    }

    /// A conversation is large from now on, whatever its size is here.
    fn grow(&self) {
        let ids: Vec<&ConversationId> = self.world.sent.keys().map(|(id, _)| id).collect();
        let id = ids[self.world.state().rng.index(ids.len())];
        self.world.note(|| format!("{id} is LARGE"));
        let _ = now(self.world.truth.set_large(id));
    }

    /// Retention takes records that the notifier may not have had: it was away for long.
    fn expire_records(&mut self) {
        while let Some(at) = self.tasks.iter().position(|task| task.role == RoleKind::Notifier) {
            self.drop_task(at);
        }
        let mut state = self.world.state();
        let State { log, rng, .. } = &mut *state;
        let topic = rng.pick(&[Topic::ConversationChanged, Topic::ReadChanged]);
        let partition = TopicPartition {
            topic,
            partition: u32::try_from(rng.index(log.partitions() as usize)).unwrap_or(0),
        };
        log.expire(partition, rng);
        let start = log.start_of(partition);
        drop(state);
        self.world.note(|| format!("records of {partition} before {start} EXPIRE"));
    }
}
