use readmark_domain::dead_letter::{Failure, LetterId};
use readmark_domain::time::TimeMs;
use readmark_events::{
    DeadLetterHeaders, PastFailure, RedeliveredBy, RedeliveryHeaders, Topic, original_headers,
};
use readmark_log::{NewRecord, Record};
use readmark_runtime::dead_letter::{is_of_the_record, may_heal};

/// A dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// Its record on the topic of dead letters: key and payload are the original's.
    pub record: Record,
    /// What it says about itself; `None` when that can't be read, so that nobody knows where it belongs.
    pub headers: Option<DeadLetterHeaders>,
}

impl Letter {
    /// From its record.
    #[must_use]
    pub fn read(record: Record) -> Self {
        let headers = DeadLetterHeaders::from_headers(&record.headers);
        // A letter about a letter would go round in circles.
        let headers = headers.filter(|headers| headers.source.topic != Topic::DeadLetters);
        Self { record, headers }
    }

    /// Its name.
    #[must_use]
    pub const fn id(&self) -> LetterId {
        let position = self.record.position;
        LetterId { partition: position.partition.partition, offset: position.offset }
    }

    /// When it became a dead letter, by the log's clock.
    #[must_use]
    pub const fn failed_at(&self) -> TimeMs {
        self.record.appended_at
    }

    /// For the schedule of redelivery.
    #[must_use]
    pub fn failure(&self) -> Failure {
        Failure {
            attempts: self.headers.as_ref().map_or(1, |headers| headers.attempts),
            failed_at: self.failed_at(),
            may_heal: self.headers.as_ref().is_some_and(|headers| may_heal(&headers.reason)),
        }
    }

    /// The record as it goes back to where it comes from; `None` when nobody knows where that is.
    #[must_use]
    pub fn redelivery(&self, origin: RedeliveredBy) -> Option<NewRecord> {
        let letter = self.headers.as_ref()?;
        let failure = PastFailure {
            attempts: letter.attempts,
            first_failed_at_ms: letter.first_failed_at_ms,
            role: (!is_of_the_record(&letter.reason)).then(|| letter.role.clone()),
        };
        let redelivery = RedeliveryHeaders { origin, source: letter.source, failure: Some(failure) };
        let mut headers = original_headers(&self.record.headers);
        headers.extend(redelivery.to_headers());
        Some(NewRecord {
            topic: letter.source.topic,
            key: self.record.key.clone().unwrap_or_default(),
            payload: self.record.payload.clone(),
            headers,
        })
    }
}
