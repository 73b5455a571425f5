use crate::record::TopicPartition;
use readmark_events::Topic;

/// What kind of failure it was, which decides what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogErrorKind {
    /// Away, slow or full for now: try again. An append may have landed; a repeat is harmless.
    Unavailable,
    /// The log refused the request and always will: too large, no right, no such topic.
    Refused,
    /// What is stored can't be read: stop, an operator must look.
    Corrupt,
    /// The consumer does not own the partition any more: drop its state, go on.
    NotOwner,
}

/// A failed operation of the log, with its coordinates.
#[derive(Debug, Clone, thiserror::Error)]
#[error("log: {operation} failed{}: {detail}", at.as_ref().map(|at| format!(" at {at}")).unwrap_or_default())]
pub struct LogError {
    /// What failed.
    pub operation: &'static str,
    /// Where.
    pub at: Option<String>,
    /// What kind.
    pub kind: LogErrorKind,
    /// In words.
    pub detail: String,
}

impl LogError {
    /// An error without coordinates.
    pub fn new(operation: &'static str, kind: LogErrorKind, detail: impl std::fmt::Display) -> Self {
        Self { operation, at: None, kind, detail: detail.to_string() }
    }

    /// With a topic.
    #[must_use]
    pub fn at_topic(mut self, topic: Topic) -> Self {
        self.at = Some(topic.to_string());
        self
    }

    /// With a partition.
    #[must_use]
    pub fn at_partition(mut self, partition: TopicPartition) -> Self {
        self.at = Some(partition.to_string());
        self
    }

    /// May the same call succeed when tried again?
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self.kind {
            LogErrorKind::Unavailable => true,
            LogErrorKind::Refused | LogErrorKind::Corrupt | LogErrorKind::NotOwner => false,
        }
    }
}
