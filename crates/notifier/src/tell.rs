//! Telling the hot state: each user by itself, again for as long as it fails, until nothing is left to be counted.

use crate::metrics::NotifierMetrics;
use readmark_domain::hot::Applied;
use readmark_hot::{HotError, HotErrorKind, HotState, TallyTold, UserChange};
use readmark_runtime::at_once::{self, Call};
use readmark_runtime::ports::Ports;
use readmark_runtime::retry::Retrier;
use readmark_runtime::role::RoleError;
use readmark_store::StoreError;
use readmark_sync::{SyncError, Told, apply_until_counted, whole_change};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Users told in one call of the hot state, so that no call takes long.
pub(crate) const TOLD_AT_ONCE: usize = 512;
/// Conversations of users read from the store at once.
const READS_AT_ONCE: usize = 16;

/// What tells the hot state.
pub(crate) struct Teller {
    hot: Arc<dyn HotState>,
    ports: Ports,
    retrier: Retrier,
    metrics: NotifierMetrics,
}

/// What is left to be told, and what came of the rest.
struct Attempts<T> {
    answers: Vec<Option<T>>,
    left: Vec<usize>,
}

impl<T> Attempts<T> {
    fn new(count: usize) -> Mutex<Self> {
        Mutex::new(Self { answers: (0..count).map(|_| None).collect(), left: (0..count).collect() })
    }

    /// An attempt leaves a whole state, so a poisoned lock is taken as it is.
    fn lock(attempts: &Mutex<Self>) -> MutexGuard<'_, Self> {
        attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is told again: those that are left of `all`.
    fn left_of<C: Clone>(attempts: &Mutex<Self>, all: &[C]) -> Vec<C> {
        Self::lock(attempts).left.iter().filter_map(|at| all.get(*at).cloned()).collect()
    }

    /// Keeps what succeeded; the first error, if there was one.
    fn keep<E>(attempts: &Mutex<Self>, answers: Vec<Result<T, E>>) -> Result<(), E> {
        let mut attempts = Self::lock(attempts);
        let asked = std::mem::take(&mut attempts.left);
        let mut first_error = None;
        for (at, answer) in asked.into_iter().zip(answers) {
            match answer {
                Ok(answer) => {
                    if let Some(kept) = attempts.answers.get_mut(at) {
                        *kept = Some(answer);
                    }
                }
                Err(error) => {
                    attempts.left.push(at);
                    first_error.get_or_insert(error);
                }
            }
        }
        first_error.map_or(Ok(()), Err)
    }

    fn into_answers(attempts: Mutex<Self>) -> Vec<Option<T>> {
        attempts.into_inner().unwrap_or_else(PoisonError::into_inner).answers
    }
}

impl Teller {
    pub fn new(hot: Arc<dyn HotState>, ports: Ports, retrier: Retrier, metrics: NotifierMetrics) -> Self {
        Self { hot, ports, retrier, metrics }
    }

    /// Tells changes; `None` for each user without a state.
    pub async fn changes(&self, changes: &[UserChange]) -> Result<Vec<Option<Told>>, RoleError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let attempts = Attempts::new(changes.len());
        let attempt = || async {
            let left = Attempts::left_of(&attempts, changes);
            Attempts::keep(&attempts, apply_until_counted(&*self.hot, &*self.ports.store, &left).await)
        };
        self.retrier.run(attempt).await.map_err(to_role_error)?;
        let told: Vec<Option<Told>> =
            Attempts::into_answers(attempts).into_iter().map(Option::flatten).collect();
        self.metrics.count(told.iter().map(|told| told.map(|told| told.appended)));
        Ok(told)
    }

    /// Tells tallies; `None` for each user without a state.
    pub async fn tallies(&self, tallies: &[TallyTold]) -> Result<Vec<Option<Applied>>, RoleError> {
        let attempts = Attempts::new(tallies.len());
        let attempt = || async {
            let left = Attempts::left_of(&attempts, tallies);
            Attempts::keep(&attempts, self.hot.apply_tallies(&left).await)
        };
        self.retrier.run(attempt).await?;
        let told: Vec<Option<Applied>> =
            Attempts::into_answers(attempts).into_iter().map(Option::flatten).collect();
        self.metrics.count(told.iter().map(|told| told.map(|told| u32::from(told.appended))));
        Ok(told)
    }

    /// Tells these users all that the store knows of these conversations.
    pub async fn whole(&self, joined: Vec<UserChange>) -> Result<Vec<Option<Told>>, RoleError> {
        let mut reads: Vec<Call<'_, UserChange, StoreError>> = Vec::new();
        for told in joined {
            reads.push(Box::pin(async move {
                let store = &*self.ports.store;
                let whole = self.retrier.run(|| whole_change(store, told.uid, &told.conversation_id)).await?;
                Ok(UserChange { change: Arc::new(whole), ..told })
            }));
        }
        let whole = at_once::all(READS_AT_ONCE, reads).await?;
        self.changes(&whole).await
    }

    /// Every state misses something: each is made anew when it is needed.
    pub async fn forget_all(&self) -> Result<(), RoleError> {
        Ok(self.retrier.run(|| self.hot.forget_all()).await?)
    }
}

fn to_role_error(error: SyncError) -> RoleError {
    match error {
        SyncError::Store(error) => error.into(),
        SyncError::Hot(error) => error.into(),
        // All of these are retryable, so none comes here.
        SyncError::Unsettled { uid, .. }
        | SyncError::NotRebuilt { uid, .. }
        | SyncError::Overloaded { uid } => {
            HotError::new("apply", uid, HotErrorKind::Unavailable, error).into()
        }
    }
}
