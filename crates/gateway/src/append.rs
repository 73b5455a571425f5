use crate::state::Gateway;
use readmark_domain::time::TimeMs;
use readmark_events::{Fact, header_name};
use readmark_http::{Kind, Problem};
use readmark_log::NewRecord;

/// How long a request waits for its records to be durable. After it they may have landed all the same: a
/// repeat is harmless.
const APPEND_LIMIT_MS: u64 = 5_000;

/// The record of a fact that was accepted at `accepted_at`.
pub(crate) fn record<F: Fact>(fact: &F, accepted_at: TimeMs) -> Result<NewRecord, Problem> {
    NewRecord::of(fact)
        .map(|record| record.with_header(header_name::ACCEPTED_AT_MS, accepted_at))
        .map_err(|error| Problem::malformed(format!("this makes no record: {error}")))
}

impl Gateway {
    /// Returns when all records are durable.
    pub(crate) async fn append(&self, records: Vec<NewRecord>) -> Result<(), Problem> {
        if records.is_empty() {
            return Ok(());
        }
        tokio::select! {
            appended = self.ports.log.append(records) => Ok(appended.map(|_| ())?),
            () = self.ports.clock.sleep_ms(APPEND_LIMIT_MS) => {
                Err(Problem::new(Kind::Unavailable, "the event log has not confirmed within 5 s; a repeat is harmless"))
            }
        }
    }
}
