//! One way to read and one to write: bounded pages, batches and requests on their way.

use super::CqlStore;
use super::error::At;
use crate::error::{StoreError, StoreErrorKind};
use futures::stream::{self, StreamExt, TryStreamExt};
use scylla::deserialize::row::DeserializeRow;
use scylla::response::PagingState;
use scylla::serialize::row::SerializeRow;
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::prepared::PreparedStatement;
use std::ops::ControlFlow;
use tokio::sync::SemaphorePermit;

/// Statements of one batch: measured, more gain little, and a batch is one mutation that one replica thread
/// applies in one go.
const BATCH_STATEMENTS_MAX: usize = 100;
/// Bytes of one batch, half of where ScyllaDB begins to warn.
const BATCH_BYTES_MAX: usize = 64 * 1_024;
/// Requests of one call on their way at once; all calls of a process share another bound.
const REQUESTS_OF_CALL_MAX: usize = 16;

/// A statement with its values, and about how many bytes these are.
pub(super) struct Write<'s, V> {
    pub statement: &'s PreparedStatement,
    pub values: V,
    pub bytes: usize,
}

/// About how many bytes a statement takes besides what is counted: its id, the lengths, a conversation.
const STATEMENT_BYTES: usize = 128;

impl<'s, V> Write<'s, V> {
    /// A write of small values.
    pub const fn new(statement: &'s PreparedStatement, values: V) -> Self {
        Self::of_bytes(statement, values, 0)
    }

    /// A write of so many bytes besides its key.
    pub const fn of_bytes(statement: &'s PreparedStatement, values: V, bytes: usize) -> Self {
        Self { statement, values, bytes: bytes + STATEMENT_BYTES }
    }
}

/// Waits for all of `requests`, some at a time; gives their answers in order, or the first error.
pub(super) async fn all<T, F>(requests: impl IntoIterator<Item = F> + Send) -> Result<Vec<T>, StoreError>
where
    T: Send,
    F: Future<Output = Result<T, StoreError>> + Send,
{
    let requests: Vec<F> = requests.into_iter().collect();
    stream::iter(requests).buffered(REQUESTS_OF_CALL_MAX).try_collect().await
}

impl CqlStore {
    /// Waits until this process may send one more request.
    async fn turn(&self, at: At<'_>) -> Result<SemaphorePermit<'_>, StoreError> {
        let permit = self.in_flight.acquire().await;
        permit.map_err(|_| at.error(StoreErrorKind::Unavailable, "the store is closed"))
    }

    /// Reads at most `limit` rows, page by page.
    pub(super) async fn rows<R>(
        &self,
        at: At<'_>,
        statement: &PreparedStatement,
        values: impl SerializeRow + Sync,
        limit: usize,
    ) -> Result<Vec<R>, StoreError>
    where
        R: for<'r> DeserializeRow<'r, 'r> + Send,
    {
        let mut rows = Vec::new();
        let mut state = PagingState::start();
        loop {
            let permit = self.turn(at).await?;
            let page = self.session.execute_single_page(statement, &values, state).await;
            let (page, next) = page.map_err(|error| at.failed(&error))?;
            drop(permit);
            let page = page.into_rows_result().map_err(|error| at.corrupt(error))?;
            for row in page.rows::<R>().map_err(|error| at.corrupt(error))? {
                if rows.len() == limit {
                    return Ok(rows);
                }
                rows.push(row.map_err(|error| at.corrupt(error))?);
            }
            match next.into_paging_control_flow() {
                ControlFlow::Break(()) => return Ok(rows),
                ControlFlow::Continue(next) => state = next,
            }
        }
    }

    /// Makes writes to one partition of one table, as few requests as the bounds of a batch allow.
    pub(super) async fn write<V>(&self, at: At<'_>, writes: Vec<Write<'_, V>>) -> Result<(), StoreError>
    where
        V: SerializeRow + Send + Sync,
    {
        all(batches(writes).into_iter().map(|batch| self.write_batch(at, batch))).await.map(drop)
    }

    async fn write_batch<V>(&self, at: At<'_>, writes: Vec<Write<'_, V>>) -> Result<(), StoreError>
    where
        V: SerializeRow + Send + Sync,
    {
        let _permit = self.turn(at).await?;
        let done = match writes.as_slice() {
            [] => return Ok(()),
            [one] => self.session.execute_unpaged(one.statement, &one.values).await,
            several => {
                let mut batch = Batch::new(BatchType::Unlogged);
                batch.set_is_idempotent(true);
                for write in several {
                    batch.append_statement(write.statement.clone());
                }
                let values: Vec<&V> = several.iter().map(|write| &write.values).collect();
                self.session.batch(&batch, values).await
            }
        };
        done.map(drop).map_err(|error| at.failed(&error))
    }
}

/// Cuts writes into batches.
fn batches<V>(writes: Vec<Write<'_, V>>) -> Vec<Vec<Write<'_, V>>> {
    let mut batches: Vec<Vec<Write<'_, V>>> = Vec::new();
    let mut bytes = 0;
    for write in writes {
        let fits = |batch: &&mut Vec<Write<'_, V>>| {
            batch.len() < BATCH_STATEMENTS_MAX && bytes + write.bytes <= BATCH_BYTES_MAX
        };
        match batches.last_mut().filter(fits) {
            Some(batch) => {
                bytes += write.bytes;
                batch.push(write);
            }
            None => {
                bytes = write.bytes;
                batches.push(vec![write]);
            }
        }
    }
    batches
}
