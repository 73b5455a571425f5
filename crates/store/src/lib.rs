//! The receipt store: read arrays, messages, members, registers.
//!
//! [`ReceiptStore`] is a port, shaped for CQL: every write is an idempotent merge that reads nothing (a set
//! that grows, a register whose greatest order key wins), so it may be repeated, reordered and raced.
//! A write resolves when it is durable.

#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg(feature = "cql")]
pub mod cql;
pub mod embedded;
mod error;
pub mod lookup;
pub mod memory;
mod port;
mod resolution;
mod row;

pub use error::{StoreError, StoreErrorKind};
pub use port::{
    ConversationStore, DeadLetterStore, MemberStore, MessageStore, ReadArrayStore, ReceiptStore, UserStore,
};
pub use row::{
    Bucket, Conversation, MemberChange, READERS_OUTLIVE_MESSAGE_MS, Raise, ReadArrayAdd, UserConversation,
    UserConversationEntry,
};
