//! Independent calls, several at once, within a bound.

use futures::future::BoxFuture;
use futures::{StreamExt, TryStreamExt};

/// One of several calls.
pub type Call<'a, T, E> = BoxFuture<'a, Result<T, E>>;

/// Runs all of `calls`, at most `limit` at a time; gives back their results in order.
///
/// # Errors
/// The first error; the calls still running are dropped.
pub async fn all<T: Send, E: Send>(limit: usize, calls: Vec<Call<'_, T, E>>) -> Result<Vec<T>, E> {
    futures::stream::iter(calls).buffered(limit).try_collect().await
}
