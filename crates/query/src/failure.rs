use readmark_http::{Kind, Problem};
use readmark_sync::SyncError;

/// What could not be read of a user: answered as an error, never as nothing unread (RR-10).
pub fn problem(error: SyncError) -> Problem {
    match error {
        SyncError::Store(error) => Problem::from(error),
        SyncError::Hot(error) => {
            tracing::warn!(%error, "request failed: the hot state");
            Problem::new(Kind::Unavailable, "the hot state does not answer")
        }
        error @ (SyncError::Unsettled { .. }
        | SyncError::NotRebuilt { .. }
        | SyncError::Overloaded { .. }) => {
            tracing::warn!(%error, "request failed: overload");
            Problem::new(Kind::Overloaded, "too many users are read from the store at once")
        }
    }
}
