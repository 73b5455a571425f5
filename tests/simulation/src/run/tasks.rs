//! Tasks: the members of the roles' groups, and the syncs of devices.

use super::{Run, Task};
use crate::clock::SimClock;
use crate::device;
use crate::hot::SimHot;
use crate::roles::role_future;
use crate::sim_log::SimLog;
use crate::store::SimStore;
use crate::tap::{RoleKind, Tap};
use crate::world::TaskId;
use readmark_hot::HotState;
use readmark_runtime::ports::Ports;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio_util::sync::CancellationToken;

/// Syncs under way at once.
const SYNCS_AT_ONCE: usize = 4;

impl Run {
    pub(super) fn drop_task(&mut self, at: usize) {
        drop(self.tasks.swap_remove(at));
    }

    /// Starts members until every group has as many as it should.
    pub(super) fn keep_members(&mut self) {
        for (index, role) in RoleKind::ALL.into_iter().enumerate() {
            let alive =
                |task: &&Task| task.role == role && task.zombie_calls.is_none() && !task.stop.is_cancelled();
            let missing =
                self.wildness.members[index].saturating_sub(self.tasks.iter().filter(alive).count() as u64);
            for _ in 0..missing {
                self.start(role);
            }
        }
    }

    /// Its number, and its own ports.
    fn new_task(&mut self, role: RoleKind) -> (TaskId, Ports, Arc<dyn HotState>) {
        let id = self.next_task;
        self.next_task += 1;
        let tap = Arc::new(Tap::new(self.world.clone(), role, self.options.mutation));
        let ports = Ports {
            log: Arc::new(SimLog::new(self.world.clone(), tap.clone())),
            store: Arc::new(SimStore::new(self.world.clone(), tap.clone())),
            clock: Arc::new(SimClock(self.world.clone())),
        };
        (id, ports, Arc::new(SimHot::new(self.world.clone(), tap)))
    }

    fn start(&mut self, role: RoleKind) {
        let (id, ports, hot) = self.new_task(role);
        let stop = CancellationToken::new();
        let Some(future) = role_future(role, ports, hot, self.rules.clone(), stop.clone()) else {
            self.world.violation("metrics can't be registered".to_owned());
            return;
        };
        self.add(Task { id, role, device: None, future, stop, zombie_calls: None });
    }

    fn add(&mut self, task: Task) {
        let (id, role) = (task.id, task.role);
        self.tasks.push(task);
        self.world.note(|| format!("task {id} {role:?} starts"));
        self.poll(self.tasks.len() - 1);
    }

    pub(super) fn poll(&mut self, at: usize) {
        let task = &mut self.tasks[at];
        let (id, role) = (task.id, task.role);
        self.world.state().current = id;
        let polled = task.future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        match polled {
            Poll::Pending => return,
            Poll::Ready(Ok(())) => self.world.note(|| format!("task {id} {role:?} has stopped")),
            Poll::Ready(Err(error)) => self.world.violation(format!("{role:?} gives up: {error}")),
        }
        self.drop_task(at);
        self.world.state().current = 0;
    }

    /// Starts a sync of some device, unless enough are under way.
    pub(super) fn start_sync(&mut self) {
        let syncing = self.tasks.iter().filter(|task| task.role == RoleKind::Device).count();
        let number = {
            let mut state = self.world.state();
            let devices = state.devices.len();
            state.rng.index(devices)
        };
        if syncing < SYNCS_AT_ONCE {
            self.sync(number);
        }
    }

    /// Starts a sync of every device.
    pub(super) fn sync_all(&mut self) {
        let devices = self.world.state().devices.len();
        (0..devices).for_each(|number| self.sync(number));
    }

    /// A device syncs one thing after the other.
    fn sync(&mut self, number: usize) {
        if self.tasks.iter().any(|task| task.device == Some(number)) {
            return;
        }
        let (id, ports, hot) = self.new_task(RoleKind::Device);
        let world = self.world.clone();
        let future = Box::pin(async move {
            device::sync(world, number, ports, hot).await;
            Ok(())
        });
        self.add(Task {
            id,
            role: RoleKind::Device,
            device: Some(number),
            future,
            stop: CancellationToken::new(),
            zombie_calls: None,
        });
    }
}
