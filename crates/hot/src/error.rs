/// What kind of failure it was, which decides what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HotErrorKind {
    /// Away, slow or full for now: try again. A change may have been merged; a repeat is harmless.
    Unavailable,
    /// Refused, and always will be: wrong password, missing right, a server that is too old. An operator must look.
    Refused,
}

/// A failed operation of the hot state, with its coordinates.
#[derive(Debug, Clone, thiserror::Error)]
#[error("hot state: {operation} failed at {at}: {detail}")]
pub struct HotError {
    /// What failed.
    pub operation: &'static str,
    /// Where: user, or server.
    pub at: String,
    /// What kind.
    pub kind: HotErrorKind,
    /// In words.
    pub detail: String,
}

impl HotError {
    /// An error.
    pub fn new(
        operation: &'static str,
        at: impl std::fmt::Display,
        kind: HotErrorKind,
        detail: impl std::fmt::Display,
    ) -> Self {
        Self { operation, at: at.to_string(), kind, detail: detail.to_string() }
    }

    /// May the same call succeed when tried again?
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self.kind {
            HotErrorKind::Unavailable => true,
            HotErrorKind::Refused => false,
        }
    }
}
