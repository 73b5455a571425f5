//! Ids, each a type of its own, checked when parsed.

mod conversation_id;
pub mod count;
mod endpoint;
mod msg_id;
pub(crate) mod numeric;
mod seq;
mod text;
mod uid;

pub use conversation_id::ConversationId;
pub use endpoint::Endpoint;
pub use msg_id::MsgId;
pub use seq::{Seq, seq_or_zero};
pub use uid::Uid;

/// Why a text or number is no id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// A numeric id that is no decimal number or out of its range.
    #[error("{id} must be a whole number from {min} to {max}, as a decimal string or a number")]
    Number {
        /// Which id.
        id: &'static str,
        /// Smallest value allowed.
        min: u64,
        /// Greatest value allowed.
        max: u64,
    },
    /// A text id of the wrong length.
    #[error("{id} must be a string of 1 to {max} bytes")]
    Length {
        /// Which id.
        id: &'static str,
        /// Greatest length in bytes.
        max: usize,
    },
    /// A text id with a control character, which would break logs and terminals.
    #[error("{id} must not contain control characters")]
    ControlCharacter {
        /// Which id.
        id: &'static str,
    },
}
