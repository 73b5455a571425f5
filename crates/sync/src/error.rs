use readmark_domain::id::{ConversationId, Uid};
use readmark_hot::HotError;
use readmark_runtime::retry::Retryable;
use readmark_store::StoreError;

/// Why something between hot state and store failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SyncError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The hot state failed.
    #[error(transparent)]
    Hot(#[from] HotError),
    /// A row changed faster than its numbers could be counted.
    #[error("unread of {uid} in {conversation_id} was counted {rounds} times and had changed each time")]
    Unsettled {
        /// Whose.
        uid: Uid,
        /// Where.
        conversation_id: ConversationId,
        /// How often it was counted.
        rounds: u32,
    },
    /// A user's hot state is not there, and could not be made in time.
    #[error("the hot state of {uid} is not there yet: {why}")]
    NotRebuilt {
        /// Whose.
        uid: Uid,
        /// In words.
        why: &'static str,
    },
    /// Too many pictures are being computed from the store.
    #[error("the picture of {uid} was not computed: too many others wait for the store")]
    Overloaded {
        /// Whose.
        uid: Uid,
    },
}

impl SyncError {
    /// May the same call succeed when tried again?
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Store(error) => error.is_retryable(),
            Self::Hot(error) => error.is_retryable(),
            Self::Unsettled { .. } | Self::NotRebuilt { .. } | Self::Overloaded { .. } => true,
        }
    }
}

impl Retryable for SyncError {
    fn is_retryable(&self) -> bool {
        Self::is_retryable(self)
    }
}
