//! Who is connected here, and what wakes their connections.

use readmark_domain::id::Uid;
use readmark_hot::{HotState, Wakeup, Wakeups, Watch};
use readmark_runtime::clock::Clock;
use readmark_runtime::retry::pause_ms;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The connections of a process, by user.
pub(super) struct Hub {
    state: Mutex<State>,
    max_per_user: usize,
}

#[derive(Default)]
struct State {
    users: HashMap<Uid, Vec<Arc<Notify>>>,
    /// Nothing until the subscription stands; who connects before is watched then.
    watch: Option<Arc<dyn Watch>>,
}

/// A connection's place; gives it up when dropped.
pub(super) struct Seat {
    hub: Arc<Hub>,
    uid: Uid,
    woken: Arc<Notify>,
}

impl Hub {
    pub fn new(max_per_user: usize) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), max_per_user })
    }

    /// Every method leaves a whole state, so a poisoned lock is taken as it is.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for one more connection of this user; nothing when it has too many. What is appended to its stream
    /// after this wakes it.
    pub async fn take_seat(self: &Arc<Self>, uid: Uid) -> Option<Seat> {
        let woken = Arc::new(Notify::new());
        let watch = {
            let mut state = self.state();
            let connections = state.users.entry(uid).or_default();
            if connections.len() >= self.max_per_user {
                return None;
            }
            connections.push(woken.clone());
            state.watch.clone()
        };
        let seat = Seat { hub: self.clone(), uid, woken };
        if let Some(watch) = watch {
            watch.add(uid).await;
        }
        Some(seat)
    }

    /// Hands wake-ups on, until `stop`.
    pub async fn run(
        self: Arc<Self>,
        hot: Arc<dyn HotState>,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
    ) {
        let mut failures = 0;
        let (watch, mut wakeups) = loop {
            let subscribed = tokio::select! {
                subscribed = hot.subscribe() => subscribed,
                () = stop.cancelled() => return,
            };
            match subscribed {
                Ok(subscribed) => break subscribed,
                Err(error) => {
                    let pause = pause_ms(failures);
                    failures += 1;
                    tracing::warn!(%error, pause_ms = pause, "no wake-ups yet: connections are read from time to time");
                    tokio::select! {
                        () = clock.sleep_ms(pause) => {}
                        () = stop.cancelled() => return,
                    }
                }
            }
        };
        self.watch_all(&watch).await;
        tokio::select! {
            () = self.hand_on(&mut wakeups) => {}
            () = stop.cancelled() => {}
        }
    }

    async fn watch_all(&self, watch: &Arc<dyn Watch>) {
        let waiting: Vec<Uid> = {
            let mut state = self.state();
            state.watch = Some(watch.clone());
            state.users.keys().copied().collect()
        };
        for uid in waiting {
            watch.add(uid).await;
        }
        self.wake_all();
    }

    async fn hand_on(&self, wakeups: &mut Wakeups) {
        loop {
            match wakeups.next().await {
                Wakeup::User(uid) => {
                    self.state().users.get(&uid).into_iter().flatten().for_each(|woken| woken.notify_one());
                }
                Wakeup::All => self.wake_all(),
            }
        }
    }

    fn wake_all(&self) {
        self.state().users.values().flatten().for_each(|woken| woken.notify_one());
    }

    /// Says whether the user has no connection left.
    fn leave(&self, uid: Uid, woken: &Arc<Notify>) -> Option<Arc<dyn Watch>> {
        let mut state = self.state();
        let connections = state.users.get_mut(&uid)?;
        connections.retain(|one| !Arc::ptr_eq(one, woken));
        if !connections.is_empty() {
            return None;
        }
        state.users.remove(&uid);
        state.watch.clone()
    }

    /// Takes a user that nobody is connected as any more off the watch. Somebody may connect meanwhile: then it is
    /// watched again.
    async fn unwatch(&self, uid: Uid, watch: Arc<dyn Watch>) {
        watch.remove(uid).await;
        let is_back = self.state().users.contains_key(&uid);
        if is_back {
            watch.add(uid).await;
            self.state().users.get(&uid).into_iter().flatten().for_each(|woken| woken.notify_one());
        }
    }
}

impl Seat {
    /// Resolves when the user's stream is to be read again.
    pub async fn woken(&self) {
        self.woken.notified().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(watch) = self.hub.leave(self.uid, &self.woken) {
            let (hub, uid) = (self.hub.clone(), self.uid);
            tokio::spawn(async move { hub.unwatch(uid, watch).await });
        }
    }
}
