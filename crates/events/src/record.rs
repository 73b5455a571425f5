//! What can be written to a topic.

use crate::changed::{ConversationChanged, ReadChanged};
use crate::topic::Topic;
use readmark_domain::fact::{AckFact, ConversationFact, MarkFact};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The version written today.
pub const RECORD_VERSION: u32 = 1;

/// A family of facts that travels on one topic.
pub trait Fact: Serialize + DeserializeOwned + Send {
    /// Its topic.
    const TOPIC: Topic;

    /// The record's key: a uid in decimal, or a conversation id. Same key, same partition, one order.
    fn key(&self) -> String;

    /// Checks what the types alone can't; the words of the error are for people.
    ///
    /// # Errors
    /// What is wrong with the fact.
    fn check(&self) -> Result<(), readmark_domain::fact::FactError>;
}

impl Fact for ConversationFact {
    const TOPIC: Topic = Topic::ConversationEvents;

    fn key(&self) -> String {
        self.conversation_id().as_str().to_owned()
    }

    fn check(&self) -> Result<(), readmark_domain::fact::FactError> {
        match self {
            Self::MessageSent(fact) => fact.check(),
            Self::SeqSkipped(fact) => fact.range().map(|_| ()),
            Self::MessageRecalled(_)
            | Self::MemberJoined(_)
            | Self::MemberLeft(_)
            | Self::ConversationClosed(_)
            | Self::ConversationPolicy(_)
            | Self::HeadImported(_) => Ok(()),
        }
    }
}

impl Fact for AckFact {
    const TOPIC: Topic = Topic::Acks;

    fn key(&self) -> String {
        self.sender_uid().to_string()
    }

    fn check(&self) -> Result<(), readmark_domain::fact::FactError> {
        match self {
            Self::Receipts(fact) => fact.check(),
            Self::Recount(fact) => fact.check(),
        }
    }
}

impl Fact for MarkFact {
    const TOPIC: Topic = Topic::Marks;

    fn key(&self) -> String {
        self.uid().to_string()
    }

    fn check(&self) -> Result<(), readmark_domain::fact::FactError> {
        Ok(())
    }
}

impl Fact for ConversationChanged {
    const TOPIC: Topic = Topic::ConversationChanged;

    fn key(&self) -> String {
        self.conversation_id().as_str().to_owned()
    }

    fn check(&self) -> Result<(), readmark_domain::fact::FactError> {
        Ok(())
    }
}

impl Fact for ReadChanged {
    const TOPIC: Topic = Topic::ReadChanged;

    fn key(&self) -> String {
        self.uid().to_string()
    }

    fn check(&self) -> Result<(), readmark_domain::fact::FactError> {
        Ok(())
    }
}
