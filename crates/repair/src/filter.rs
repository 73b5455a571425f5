use crate::error::RepairError;
use crate::named::{Named, names_senders};
use readmark_domain::id::{ConversationId, Uid};
use readmark_events::Topic;
use serde::{Deserialize, Serialize};

/// Which facts are meant; all, unless it says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Filter {
    /// Those that name this user as the sender of a message.
    pub sender: Option<Uid>,
    /// Those about this conversation.
    pub conversation: Option<ConversationId>,
}

impl Filter {
    /// Refuses what can't match anything.
    pub(crate) fn check(&self, topic: Topic) -> Result<(), RepairError> {
        if self.sender.is_some() && !names_senders(topic) {
            return Err(RepairError::usage(format_args!("no fact of the topic {topic} names a sender")));
        }
        Ok(())
    }

    pub(crate) fn matches(&self, named: &Named) -> bool {
        let is_sender = self.sender.is_none_or(|sender| named.senders.contains(&sender));
        let is_conversation = match &self.conversation {
            None => true,
            wanted => named.conversation_id == *wanted,
        };
        is_sender && is_conversation
    }
}
