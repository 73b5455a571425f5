//! What wakes a subscriber: a set, so that it is bounded by whom it watches.

use readmark_domain::id::Uid;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wakeup {
    /// This user's stream.
    User(Uid),
    /// Those of all watched users: wake-ups may have been missed.
    All,
}

/// The wake-ups of one subscriber. Several for one user become one.
#[derive(Debug)]
pub struct Wakeups(Arc<Inbox>);

impl Wakeups {
    /// The next one. May be dropped while it waits: none is lost.
    pub async fn next(&mut self) -> Wakeup {
        loop {
            let notified = self.0.notify.notified();
            if let Some(wakeup) = self.0.take() {
                return wakeup;
            }
            notified.await;
        }
    }

    /// The next one, if it is there already.
    pub fn try_next(&mut self) -> Option<Wakeup> {
        self.0.take()
    }
}

/// What waits to be taken, and for whom.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    waiting: Mutex<Waiting>,
    notify: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    watched: BTreeSet<Uid>,
    woken: BTreeSet<Uid>,
    all: bool,
}

impl Inbox {
    pub(crate) fn new() -> (Arc<Self>, Wakeups) {
        let inbox = Arc::new(Self::default());
        (Arc::clone(&inbox), Wakeups(inbox))
    }

    /// Every method leaves a whole state, so a poisoned lock is taken as it is.
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says whether the user was not watched before.
    pub(crate) fn watch(&self, uid: Uid) -> bool {
        self.waiting().watched.insert(uid)
    }

    /// Says whether the user was watched.
    pub(crate) fn unwatch(&self, uid: Uid) -> bool {
        let mut waiting = self.waiting();
        waiting.woken.remove(&uid);
        waiting.watched.remove(&uid)
    }

    pub(crate) fn wake(&self, uid: Uid) {
        let mut waiting = self.waiting();
        if waiting.watched.contains(&uid) && waiting.woken.insert(uid) {
            self.notify.notify_one();
        }
    }

    pub(crate) fn wake_all(&self) {
        self.waiting().all = true;
        self.notify.notify_one();
    }

    /// Everybody who is watched.
    #[cfg(feature = "redis")]
    pub(crate) fn watched(&self) -> Vec<Uid> {
        self.waiting().watched.iter().copied().collect()
    }

    #[cfg(feature = "redis")]
    pub(crate) fn is_watched(&self, uid: Uid) -> bool {
        self.waiting().watched.contains(&uid)
    }

    fn take(&self) -> Option<Wakeup> {
        let mut waiting = self.waiting();
        if std::mem::take(&mut waiting.all) {
            waiting.woken.clear();
            return Some(Wakeup::All);
        }
        waiting.woken.pop_first().map(Wakeup::User)
    }
}
