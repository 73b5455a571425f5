use readmark_log::LogError;
use readmark_store::StoreError;

/// Why a repair can't begin, or go on.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// What was asked makes no sense; nothing was done.
    #[error("{0}")]
    Usage(String),
    /// The log failed for good, or was away for too long.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The store failed for good, or was away for too long.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl RepairError {
    pub(crate) fn usage(words: impl std::fmt::Display) -> Self {
        Self::Usage(words.to_string())
    }
}
