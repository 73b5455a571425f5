//! What the driver tries again by itself.

use scylla::errors::{DbError, RequestAttemptError, WriteType};
use scylla::policies::retry::{DefaultRetryPolicy, RequestInfo, RetryDecision, RetryPolicy, RetrySession};

/// A write that timed out is sent again this often: one slow replica passes, an outage is the caller's to
/// wait for.
const WRITE_TIMEOUT_RETRIES: u32 = 2;

/// As the driver's own policy, and write timeouts of single statements and unlogged batches too, which that
/// one gives up on although every write here is idempotent.
#[derive(Debug, Default)]
pub(super) struct Retry;

impl RetryPolicy for Retry {
    fn new_session(&self) -> Box<dyn RetrySession> {
        Box::new(Session { others: DefaultRetryPolicy::new().new_session(), write_timeouts: 0 })
    }
}

struct Session {
    others: Box<dyn RetrySession>,
    write_timeouts: u32,
}

impl RetrySession for Session {
    fn decide_should_retry(&mut self, request: RequestInfo<'_>) -> RetryDecision {
        if !is_retried_here(request.error, request.is_idempotent) {
            return self.others.decide_should_retry(request);
        }
        if self.write_timeouts == WRITE_TIMEOUT_RETRIES {
            return RetryDecision::DontRetry;
        }
        self.write_timeouts += 1;
        RetryDecision::RetrySameTarget(None)
    }

    fn reset(&mut self) {
        self.others.reset();
        self.write_timeouts = 0;
    }
}

fn is_retried_here(error: &RequestAttemptError, is_idempotent: bool) -> bool {
    let RequestAttemptError::DbError(DbError::WriteTimeout { write_type, .. }, _) = error else {
        return false;
    };
    is_idempotent && matches!(write_type, WriteType::Simple | WriteType::UnloggedBatch)
}

#[cfg(test)]
mod tests {
    use super::{RequestAttemptError, is_retried_here};
    use scylla::errors::{DbError, WriteType};
    use scylla::statement::Consistency;

    fn write_timeout(write_type: WriteType) -> RequestAttemptError {
        let error = DbError::WriteTimeout {
            consistency: Consistency::LocalQuorum,
            received: 1,
            required: 2,
            write_type,
        };
        RequestAttemptError::DbError(error, String::new())
    }

    #[test]
    fn only_idempotent_writes_that_timed_out_are_tried_again_here() {
        for (write_type, is_idempotent, wanted) in [
            (WriteType::Simple, true, true),
            (WriteType::UnloggedBatch, true, true),
            (WriteType::Simple, false, false),
            (WriteType::UnloggedBatch, false, false),
            (WriteType::Batch, true, false),
            (WriteType::BatchLog, true, false),
            (WriteType::Counter, true, false),
            (WriteType::Cas, true, false),
        ] {
            let error = write_timeout(write_type.clone());
            assert_eq!(is_retried_here(&error, is_idempotent), wanted, "{write_type}, {is_idempotent}");
        }
        let overloaded = RequestAttemptError::DbError(DbError::Overloaded, String::new());
        assert!(!is_retried_here(&overloaded, true));
    }
}
