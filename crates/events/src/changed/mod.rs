//! What roles tell each other and the outside once it is in the store.

mod conversation_changed;
mod read_changed;

pub use conversation_changed::{ConversationChanged, HeadMessage};
pub use read_changed::{ConversationRead, FlagsChanged, MessageRead, ReadChanged};
