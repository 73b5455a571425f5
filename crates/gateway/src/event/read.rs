use readmark_domain::fact::{MarkFact, ReadUpTo};
use readmark_domain::id::{ConversationId, Endpoint, Seq, Uid};
use readmark_domain::time::TimeMs;
use serde::Deserialize;

/// A user has read a conversation up to here, by the word of the IM backend.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
pub(crate) struct ReadEvent {
    /// The reader.
    pub uid: Uid,
    /// From which device.
    #[serde(default)]
    pub endpoint: Option<Endpoint>,
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The last message read.
    pub up_to_seq: Seq,
    /// When.
    pub occurred_at: TimeMs,
}

impl From<ReadEvent> for MarkFact {
    fn from(event: ReadEvent) -> Self {
        Self::ReadUpTo(ReadUpTo {
            uid: event.uid,
            conversation_id: event.conversation_id,
            up_to_seq: event.up_to_seq,
            endpoint: event.endpoint,
            occurred_at: event.occurred_at,
        })
    }
}
