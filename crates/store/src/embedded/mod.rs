//! The store on an embedded engine: one file, every call one transaction, durable when it resolves.
//!
//! Registers and sets are merged within the write transaction by the same functions as everywhere, and what
//! a call does not change is not written. Messages and read arrays that have expired are not seen any more;
//! [`EmbeddedStore::sweep`] takes them away.

mod codec;
mod conversation_store;
mod dead_letter_store;
mod key;
mod member_store;
mod message_store;
mod read_array_row;
mod read_array_store;
mod row;
mod sweep;
mod table;
mod user_store;

pub use sweep::Swept;

use crate::error::{StoreError, StoreErrorKind};
use crate::memory::Now;
use crate::port::ReceiptStore;
use async_trait::async_trait;
use readmark_domain::time::TimeMs;
use readmark_embedded::redb::{ReadTransaction, WriteTransaction};
use readmark_embedded::{Engine, EngineError, EngineErrorKind, JobError};

/// A receipt store in one file; cheap to clone.
#[derive(Clone)]
pub struct EmbeddedStore {
    engine: Engine,
    now: Now,
}

impl EmbeddedStore {
    /// The store of an engine, which must be its alone. Expiry goes by `now`. Writes only when the store is
    /// new, so that one on a full disk can still be opened and read.
    ///
    /// # Errors
    /// When the engine can't be read, or a new one not written.
    pub async fn open(engine: Engine, now: Now) -> Result<Self, StoreError> {
        let store = Self { engine, now };
        if store.engine.read("open the store", table::check_all).await.is_err() {
            store.write("open the store", || "every table".to_owned(), table::create_all).await?;
        }
        Ok(store)
    }

    fn now(&self) -> TimeMs {
        (self.now)()
    }

    async fn write<T, F>(
        &self,
        operation: &'static str,
        at: impl FnOnce() -> String,
        job: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&WriteTransaction) -> Result<T, JobError> + Send + 'static,
    {
        self.engine.write(operation, job).await.map_err(|error| store_error(operation, at(), &error))
    }

    async fn read<T, F>(
        &self,
        operation: &'static str,
        at: impl FnOnce() -> String,
        job: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&ReadTransaction) -> Result<T, JobError> + Send + 'static,
    {
        self.engine.read(operation, job).await.map_err(|error| store_error(operation, at(), &error))
    }
}

fn store_error(operation: &'static str, at: String, error: &EngineError) -> StoreError {
    let kind = match error.kind {
        // A closed engine belongs to a process that ends: what was asked of it is still to be done, and
        // must not become a dead letter.
        EngineErrorKind::Unavailable | EngineErrorKind::Closed => StoreErrorKind::Unavailable,
        EngineErrorKind::Corrupt => StoreErrorKind::Corrupt,
        EngineErrorKind::Refused => StoreErrorKind::Refused,
    };
    StoreError::new(operation, format_args!("{at} in {}", error.path.display()), kind, &error.detail)
}

impl std::fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EmbeddedStore").field("engine", &self.engine).finish_non_exhaustive()
    }
}

#[async_trait]
impl ReceiptStore for EmbeddedStore {
    async fn probe(&self) -> Result<(), StoreError> {
        self.engine.probe().await.map_err(|error| store_error("probe", "the engine".to_owned(), &error))
    }
}
