/// What kind of failure it was, which decides what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// Away, slow or full for now: try again. A write may have landed; a repeat is harmless.
    Unavailable,
    /// The store refused the statement and always will: the record that led to it is a dead letter.
    Refused,
    /// What is stored can't be read: stop, an operator must look.
    Corrupt,
}

/// A failed operation of the store, with its coordinates.
#[derive(Debug, Clone, thiserror::Error)]
#[error("store: {operation} failed at {at}: {detail}")]
pub struct StoreError {
    /// What failed.
    pub operation: &'static str,
    /// Where: table and key.
    pub at: String,
    /// What kind.
    pub kind: StoreErrorKind,
    /// In words.
    pub detail: String,
}

impl StoreError {
    /// An error.
    pub fn new(
        operation: &'static str,
        at: impl std::fmt::Display,
        kind: StoreErrorKind,
        detail: impl std::fmt::Display,
    ) -> Self {
        Self { operation, at: at.to_string(), kind, detail: detail.to_string() }
    }

    /// May the same call succeed when tried again?
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self.kind {
            StoreErrorKind::Unavailable => true,
            StoreErrorKind::Refused | StoreErrorKind::Corrupt => false,
        }
    }
}
