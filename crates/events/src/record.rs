//! What can be written to a topic.

use crate::changed::{ConversationChanged, ReadChanged};
use crate::topic::Topic;
use readmark_domain::fact::{AckFact, ConversationFact, FactError, MAX_MENTIONS, MAX_SKIP_SEQS, MarkFact};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The version written today.
pub const RECORD_VERSION: u32 = 1;

/// A family of facts that travels on one topic.
pub trait Fact: Serialize + DeserializeOwned + Send {
    /// Its topic.
    const TOPIC: Topic;

    /// The field that says which fact it is.
    const TAG: &'static str;

    /// The values of that field.
    const KINDS: &'static [&'static str];

    /// The record's key: a uid in decimal, or a conversation id. Same key, same partition, one order.
    fn key(&self) -> String;

    /// Checks what the types alone can't; the words of the error are for people.
    ///
    /// # Errors
    /// What is wrong with the fact.
    fn check(&self) -> Result<(), FactError>;
}

impl Fact for ConversationFact {
    const TOPIC: Topic = Topic::ConversationEvents;
    const TAG: &'static str = "type";
    const KINDS: &'static [&'static str] = &[
        "message_sent",
        "message_recalled",
        "seq_skipped",
        "member_joined",
        "member_left",
        "conversation_closed",
        "conversation_policy",
        "head_imported",
    ];

    fn key(&self) -> String {
        self.conversation_id().as_str().to_owned()
    }

    fn check(&self) -> Result<(), FactError> {
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
    const TAG: &'static str = "type";
    const KINDS: &'static [&'static str] = &["receipts", "recount"];

    fn key(&self) -> String {
        self.sender_uid().to_string()
    }

    fn check(&self) -> Result<(), FactError> {
        match self {
            Self::Receipts(fact) => fact.check(),
            Self::Recount(fact) => fact.check(),
        }
    }
}

impl Fact for MarkFact {
    const TOPIC: Topic = Topic::Marks;
    const TAG: &'static str = "type";
    const KINDS: &'static [&'static str] = &[
        "read_up_to",
        "cleared",
        "marked_unread",
        "muted",
        "user_settings",
        "user_erased",
        "watermark_imported",
    ];

    fn key(&self) -> String {
        self.uid().to_string()
    }

    fn check(&self) -> Result<(), FactError> {
        Ok(())
    }
}

impl Fact for ConversationChanged {
    const TOPIC: Topic = Topic::ConversationChanged;
    const TAG: &'static str = "type";
    const KINDS: &'static [&'static str] = &["head", "uncounted", "roster", "closed", "policy"];

    fn key(&self) -> String {
        self.conversation_id().as_str().to_owned()
    }

    fn check(&self) -> Result<(), FactError> {
        match self {
            Self::Uncounted { seqs, .. } => {
                let fits = (1..=MAX_SKIP_SEQS).contains(&seqs.count());
                if fits { Ok(()) } else { Err(FactError::BadSkip) }
            }
            Self::Head { messages, .. } => {
                let fit = messages.iter().all(|message| message.mentions.len() <= MAX_MENTIONS);
                if fit { Ok(()) } else { Err(FactError::TooManyMentions) }
            }
            Self::Roster { .. } | Self::Closed { .. } | Self::Policy { .. } => Ok(()),
        }
    }
}

impl Fact for ReadChanged {
    const TOPIC: Topic = Topic::ReadChanged;
    const TAG: &'static str = "kind";
    const KINDS: &'static [&'static str] = &["message_read", "conversation_read", "flags_changed"];

    fn key(&self) -> String {
        self.uid().to_string()
    }

    fn check(&self) -> Result<(), FactError> {
        match self {
            Self::MessageRead(told) if told.read > told.total => Err(FactError::ReadAboveTotal),
            Self::MessageRead(_) | Self::ConversationRead(_) | Self::FlagsChanged(_) => Ok(()),
        }
    }
}
