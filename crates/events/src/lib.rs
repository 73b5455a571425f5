//! Records of every topic: how facts are written to the log and read back.
//!
//! A payload is a JSON object with `v` (its version, now 1; absent means 1), `type` and the fact's fields.
//! Unknown fields are tolerated, unknown types and versions are refused by name, so that a consumer can put
//! the record among the dead letters.

pub mod changed;
mod decode;
mod header;
mod record;
pub mod topic;

pub use changed::{
    ConversationChanged, ConversationRead, FlagsChanged, HeadMessage, MessageRead, ReadChanged,
};
pub use decode::{DecodeError, MAX_RECORD_BYTES, decode, encode};
pub use header::{
    DeadLetterHeaders, PastFailure, RedeliveredBy, RedeliveryHeaders, Source, header_name, original_headers,
};
pub use record::{Fact, RECORD_VERSION};
pub use topic::Topic;
