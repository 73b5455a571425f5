//! The port.

use crate::error::HotError;
use crate::inbox::Wakeups;
use async_trait::async_trait;
use readmark_domain::hot::{Applied, Change, Completed, Epoch, Picture, SyncToken, Synced, TallyChange};
use readmark_domain::id::{ConversationId, Uid};
use std::sync::Arc;

/// What is told of one user in one conversation.
#[derive(Debug, Clone)]
pub struct UserChange {
    /// Whom it concerns.
    pub uid: Uid,
    /// In which conversation.
    pub conversation_id: ConversationId,
    /// What; shared, since a message is told to all members alike.
    pub change: Arc<Change>,
}

/// What is told to a sender of one of its messages.
#[derive(Debug, Clone)]
pub struct TallyTold {
    /// The sender.
    pub uid: Uid,
    /// The tally.
    pub change: TallyChange,
}

/// A user's state, as far as it may be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held<T> {
    /// There is none: rebuild it.
    Missing,
    /// A rebuild is at work, here or in another process, or has died: [`HotState::begin_rebuild`] tells.
    Incomplete,
    /// Read.
    Complete(T),
}

impl<T> Held<T> {
    /// What was read, if it was.
    pub fn complete(self) -> Option<T> {
        match self {
            Self::Complete(value) => Some(value),
            Self::Missing | Self::Incomplete => None,
        }
    }
}

/// May a rebuild begin?
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// It has begun, under this epoch: read the store now.
    Rebuild(Epoch),
    /// Another one is at work: read again in a moment. After [`crate::REBUILD_LEASE_MS`] its place may be taken.
    Running,
    /// The state is there and complete: nothing to rebuild.
    Complete,
}

/// How much there is, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Users with a state, as last counted; counting goes on with each call.
    pub users: u64,
    /// Bytes of memory that the server uses, everything included.
    pub memory_bytes: u64,
}

/// The hot state of users: registers, sync streams, wake-ups. Every call has a deadline of its own.
#[async_trait]
pub trait HotState: Send + Sync + 'static {
    /// Merges changes, each atomically, in any order. Answers in the order asked, each by
    /// itself: `None` when that user has no state. Work is bounded whatever their number; callers that must be fair
    /// to others hand in a few hundred at a time.
    ///
    /// Who watches a user is woken when something was appended.
    async fn apply(&self, changes: &[UserChange]) -> Vec<Result<Option<Applied>, HotError>>;

    /// Merges tallies of users' own messages; answers as [`HotState::apply`].
    async fn apply_tallies(&self, tallies: &[TallyTold]) -> Vec<Result<Option<Applied>, HotError>>;

    /// At most `limit` entries (1 at least) after a token.
    async fn entries(&self, uid: Uid, since: &SyncToken, limit: usize) -> Result<Held<Synced>, HotError>;

    /// A user's picture at one moment: all rows, or those named.
    async fn picture(&self, uid: Uid, only: Option<&[ConversationId]>) -> Result<Held<Picture>, HotError>;

    /// The user has called: its state lives on for [`crate::KEPT_MS`].
    async fn touch(&self, uid: Uid) -> Result<Held<()>, HotError>;

    /// Makes a state to be rebuilt, where there is none; see the crate's documentation.
    async fn begin_rebuild(&self, uid: Uid) -> Result<Begun, HotError>;

    /// Ends the rebuild of this epoch; who watches the user is woken.
    async fn complete_rebuild(&self, uid: Uid, epoch: &Epoch) -> Result<Completed, HotError>;

    /// Removes a user's state, whatever it is; who watches the user is woken. It is rebuilt on next need, under a
    /// new epoch: so what was wrong is repaired, and who was erased is gone.
    async fn forget(&self, uid: Uid) -> Result<(), HotError>;

    /// Removes every state that was there when the call began; who watches anybody is woken. For a notifier that has
    /// lost records: what they said is in the store and in no state. On servers it walks through all keys, so it may
    /// take seconds, and has no other deadline than that each step of it has one; after an error some are removed, and
    /// the call is repeated.
    async fn forget_all(&self) -> Result<(), HotError>;

    /// A subscriber: whom it watches, and what wakes it. At most a few per process.
    async fn subscribe(&self) -> Result<(Arc<dyn Watch>, Wakeups), HotError>;

    /// Does every server answer, as one that may be written to? For readiness.
    async fn probe(&self) -> Result<(), HotError>;

    /// How much there is.
    async fn usage(&self) -> Result<Usage, HotError>;
}

/// Whom a subscriber watches.
#[async_trait]
pub trait Watch: Send + Sync {
    /// Watches a user: what is appended from when this resolves on wakes the subscriber. While the server is away it
    /// resolves too; [`crate::Wakeup::All`] follows when it is back.
    async fn add(&self, uid: Uid);

    /// Watches a user no more.
    async fn remove(&self, uid: Uid);
}
