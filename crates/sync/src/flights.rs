//! One piece of work per key at a time, whoever asks for it.

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// What all who asked wait for; `None` when the work broke off.
pub(crate) type Flight<T> = Shared<BoxFuture<'static, Option<T>>>;

/// The work under way.
pub(crate) struct Flights<K, T: Clone> {
    by_key: Mutex<HashMap<K, Flight<T>>>,
    most: usize,
}

impl<K, T> Flights<K, T>
where
    K: Copy + Eq + Hash + Send + 'static,
    T: Clone + Send + Sync + 'static,
{
    /// At most `most` at once.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { by_key: Mutex::default(), most })
    }

    /// Every method leaves a whole map, so a poisoned lock is taken as it is.
    fn by_key(&self) -> MutexGuard<'_, HashMap<K, Flight<T>>> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The work for this key: what is under way, else `work`, which then goes on also when nobody waits any more.
    /// Nothing when too much is under way.
    pub fn join(
        self: &Arc<Self>,
        key: K,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<Flight<T>> {
        let mut by_key = self.by_key();
        if let Some(flight) = by_key.get(&key) {
            return Some(flight.clone());
        }
        if by_key.len() >= self.most {
            return None;
        }
        let (done, outcome) = oneshot::channel();
        let flight = outcome.map(Result::ok).boxed().shared();
        by_key.insert(key, flight.clone());
        let landing = Landing { flights: self.clone(), key };
        tokio::spawn(async move {
            let outcome = work.await;
            drop(landing);
            // Nobody may be left to wait for it.
            let _ = done.send(outcome);
        });
        Some(flight)
    }
}

/// Takes the work out of the map when it ends, also when it breaks off.
struct Landing<K, T>
where
    K: Copy + Eq + Hash + Send + 'static,
    T: Clone + Send + Sync + 'static,
{
    flights: Arc<Flights<K, T>>,
    key: K,
}

impl<K, T> Drop for Landing<K, T>
where
    K: Copy + Eq + Hash + Send + 'static,
    T: Clone + Send + Sync + 'static,
{
    fn drop(&mut self) {
        self.flights.by_key().remove(&self.key);
    }
}
