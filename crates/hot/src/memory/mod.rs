//! The hot state in the process: for one process that has all roles. It holds exactly what
//! [`readmark_domain::hot::User`] says, and is gone with the process; then every token is of another epoch.

use crate::error::HotError;
use crate::inbox::{Inbox, Wakeups};
use crate::port::{Begun, Held, HotState, TallyTold, Usage, UserChange, Watch};
use crate::{KEPT_MS, REBUILD_LEASE_MS};
use async_trait::async_trait;
use readmark_domain::hot::{Applied, Completed, Epoch, Picture, SyncToken, Synced, User};
use readmark_domain::id::{ConversationId, Uid};
use readmark_domain::time::TimeMs;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// What time it is, for what lives only for a while.
pub type Now = Arc<dyn Fn() -> TimeMs + Send + Sync>;

/// Random bits for epochs.
pub type Draw = Arc<dyn Fn() -> u128 + Send + Sync>;

/// Rebuilds between two sweeps of states that have expired: so that states outlive their time by few others, and a
/// sweep, which looks at all, costs a rebuild little.
const REBUILDS_PER_SWEEP: u64 = 1_024;

/// About how many bytes an entry, a conversation or a tally takes, for the metric.
const BYTES_PER_PART: u64 = 256;

/// A hot state in this process.
pub struct MemoryHot {
    now: Now,
    draw: Draw,
    users: Mutex<Users>,
    subscribers: Mutex<Vec<Weak<Inbox>>>,
}

#[derive(Default)]
struct Users {
    by_uid: HashMap<Uid, Slot>,
    rebuilds: u64,
}

struct Slot {
    user: User,
    expires_at: TimeMs,
    /// Until when its rebuild keeps others away.
    lease_until: TimeMs,
}

impl MemoryHot {
    /// An empty one, with its clock and its source of randomness.
    #[must_use]
    pub fn new(now: Now, draw: Draw) -> Self {
        Self { now, draw, users: Mutex::default(), subscribers: Mutex::default() }
    }

    /// An empty one with random epochs.
    #[must_use]
    pub fn with_random_epochs(now: Now) -> Self {
        Self::new(now, Arc::new(rand::random))
    }

    /// Removes every state, as a restart of a server without persistence does.
    pub fn flush(&self) {
        self.users().by_uid.clear();
    }

    /// An operation leaves a whole state, so a poisoned lock is taken as it is.
    fn users(&self) -> MutexGuard<'_, Users> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The user's state, unless it has expired.
    fn with<T>(&self, uid: Uid, act: impl FnOnce(&mut Slot) -> T) -> Option<T> {
        let now = (self.now)();
        self.users().by_uid.get_mut(&uid).filter(|slot| now < slot.expires_at).map(act)
    }

    fn read<T>(&self, uid: Uid, read: impl FnOnce(&User) -> T) -> Held<T> {
        let read = |slot: &mut Slot| slot.user.is_complete().then(|| read(&slot.user));
        match self.with(uid, read) {
            None => Held::Missing,
            Some(None) => Held::Incomplete,
            Some(Some(value)) => Held::Complete(value),
        }
    }

    fn merge(&self, uid: Uid, merge: impl FnOnce(&mut User) -> Applied) -> Option<Applied> {
        let applied = self.with(uid, |slot| merge(&mut slot.user));
        if applied.is_some_and(|applied| applied.appended > 0) {
            self.wake(uid);
        }
        applied
    }

    fn wake(&self, uid: Uid) {
        self.each_inbox(|inbox| inbox.wake(uid));
    }

    fn each_inbox(&self, wake: impl Fn(&Inbox)) {
        let mut subscribers = self.subscribers.lock().unwrap_or_else(PoisonError::into_inner);
        subscribers.retain(|subscriber| {
            let inbox = subscriber.upgrade();
            if let Some(inbox) = &inbox {
                wake(inbox);
            }
            inbox.is_some()
        });
    }
}

impl std::fmt::Debug for MemoryHot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryHot").finish_non_exhaustive()
    }
}

impl Users {
    fn begin(&mut self, uid: Uid, now: TimeMs, draw: &Draw) -> Begun {
        if let Some(slot) = self.by_uid.get(&uid).filter(|slot| now < slot.expires_at) {
            if slot.user.is_complete() {
                return Begun::Complete;
            }
            if now < slot.lease_until {
                return Begun::Running;
            }
        }
        self.rebuilds += 1;
        if self.rebuilds.is_multiple_of(REBUILDS_PER_SWEEP) {
            self.by_uid.retain(|_, slot| now < slot.expires_at);
        }
        let epoch = Epoch::of_random(draw());
        let slot = Slot {
            user: User::new(epoch.clone()),
            expires_at: now.plus_ms(KEPT_MS),
            lease_until: now.plus_ms(REBUILD_LEASE_MS),
        };
        self.by_uid.insert(uid, slot);
        Begun::Rebuild(epoch)
    }
}

#[async_trait]
impl HotState for MemoryHot {
    async fn apply(&self, changes: &[UserChange]) -> Vec<Result<Option<Applied>, HotError>> {
        let apply = |told: &UserChange| {
            Ok(self.merge(told.uid, |user| user.apply(&told.conversation_id, &told.change)))
        };
        changes.iter().map(apply).collect()
    }

    async fn apply_tallies(&self, tallies: &[TallyTold]) -> Vec<Result<Option<Applied>, HotError>> {
        tallies.iter().map(|told| Ok(self.merge(told.uid, |user| user.apply_tally(&told.change)))).collect()
    }

    async fn entries(&self, uid: Uid, since: &SyncToken, limit: usize) -> Result<Held<Synced>, HotError> {
        Ok(self.read(uid, |user| user.entries(since, limit.max(1))))
    }

    async fn picture(&self, uid: Uid, only: Option<&[ConversationId]>) -> Result<Held<Picture>, HotError> {
        Ok(self.read(uid, |user| user.picture(only)))
    }

    async fn touch(&self, uid: Uid) -> Result<Held<()>, HotError> {
        let expires_at = (self.now)().plus_ms(KEPT_MS);
        self.with(uid, |slot| slot.expires_at = slot.expires_at.max(expires_at));
        Ok(self.read(uid, |_| ()))
    }

    async fn begin_rebuild(&self, uid: Uid) -> Result<Begun, HotError> {
        Ok(self.users().begin(uid, (self.now)(), &self.draw))
    }

    async fn complete_rebuild(&self, uid: Uid, epoch: &Epoch) -> Result<Completed, HotError> {
        let completed = self.with(uid, |slot| slot.user.complete(epoch)).unwrap_or(Completed::Lost);
        if matches!(completed, Completed::Complete(_)) {
            self.wake(uid);
        }
        Ok(completed)
    }

    async fn forget(&self, uid: Uid) -> Result<(), HotError> {
        self.users().by_uid.remove(&uid);
        self.wake(uid);
        Ok(())
    }

    async fn forget_all(&self) -> Result<(), HotError> {
        self.flush();
        self.each_inbox(Inbox::wake_all);
        Ok(())
    }

    async fn subscribe(&self) -> Result<(Arc<dyn Watch>, Wakeups), HotError> {
        let (inbox, wakeups) = Inbox::new();
        self.subscribers.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&inbox));
        Ok((Arc::new(MemoryWatch(inbox)), wakeups))
    }

    async fn probe(&self) -> Result<(), HotError> {
        Ok(())
    }

    async fn usage(&self) -> Result<Usage, HotError> {
        let users = self.users();
        let parts: u64 = users.by_uid.values().map(|slot| slot.user.parts() as u64).sum();
        Ok(Usage { users: users.by_uid.len() as u64, memory_bytes: parts * BYTES_PER_PART })
    }
}

struct MemoryWatch(Arc<Inbox>);

#[async_trait]
impl Watch for MemoryWatch {
    async fn add(&self, uid: Uid) {
        self.0.watch(uid);
    }

    async fn remove(&self, uid: Uid) {
        self.0.unwatch(uid);
    }
}
