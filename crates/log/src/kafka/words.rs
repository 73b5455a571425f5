use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{DeliveryResult, ProducerContext};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long what the client has said may still explain a failure.
const FRESH: Duration = Duration::from_secs(60);

/// Facility of librdkafka's lines about a connection that ended.
const BROKER_FAILED: &str = "FAIL";

/// What a client has said last about its trouble. A wrong address, password or certificate is no error of any
/// call: calls only time out, and the reason stands in the client's log.
#[derive(Debug, Default)]
pub(super) struct Words {
    last: Mutex<Option<(Instant, String)>>,
    /// What is no error to the client and may be one to its user: that brokers hang up, most of all.
    hint: Mutex<Option<(Instant, String)>>,
}

fn keep(place: &Mutex<Option<(Instant, String)>>, words: &str) {
    let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
    *place = Some((Instant::now(), words.trim().to_owned()));
}

fn fresh(place: &Mutex<Option<(Instant, String)>>) -> Option<String> {
    let place = place.lock().unwrap_or_else(PoisonError::into_inner);
    place.as_ref().filter(|(at, _)| at.elapsed() < FRESH).map(|(_, words)| words.clone())
}

impl Words {
    pub(super) fn note(&self, words: &str) {
        keep(&self.last, words);
    }

    /// `; the client says: …`, or nothing.
    pub(super) fn suffix(&self) -> String {
        let words = fresh(&self.last).or_else(|| fresh(&self.hint));
        words.map(|words| format!("; the client says: {words}")).unwrap_or_default()
    }

    pub(super) fn said_since(&self, start: Instant) -> bool {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().is_some_and(|(at, _)| *at >= start)
    }

    /// A line of librdkafka's log. Only what is said at error level tells the reason of a failure.
    pub(super) fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        match level {
            RDKafkaLogLevel::Emerg
            | RDKafkaLogLevel::Alert
            | RDKafkaLogLevel::Critical
            | RDKafkaLogLevel::Error => {
                self.note(line);
                tracing::debug!(facility, line, "kafka client: error");
            }
            RDKafkaLogLevel::Warning => tracing::debug!(facility, line, "kafka client: warning"),
            RDKafkaLogLevel::Notice | RDKafkaLogLevel::Info | RDKafkaLogLevel::Debug => {
                if facility == BROKER_FAILED {
                    keep(&self.hint, line);
                }
                tracing::trace!(facility, line, "kafka client");
            }
        }
    }

    pub(super) fn error(&self, error: &KafkaError, reason: &str) {
        // That all brokers are down is said after why each of them is, and tells less.
        if error.rdkafka_error_code() != Some(RDKafkaErrorCode::AllBrokersDown) {
            self.note(reason);
        }
        tracing::debug!(%error, reason, "kafka client");
    }
}

/// The context of clients that need no other: it only listens.
#[derive(Debug, Default, Clone)]
pub(super) struct Listening(pub(super) std::sync::Arc<Words>);

impl ClientContext for Listening {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        self.0.log(level, facility, line);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.0.error(&error, reason);
    }
}

impl rdkafka::consumer::ConsumerContext for Listening {}

impl ProducerContext for Listening {
    type DeliveryOpaque = ();

    fn delivery(&self, _: &DeliveryResult<'_>, (): ()) {}
}
