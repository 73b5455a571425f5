//! A case: a list of facts, and another delivery of the same facts.

use readmark_domain::fact::{AckFact, ConversationFact, MarkFact};
use serde::{Deserialize, Serialize};

/// A fact of any topic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "topic", content = "fact", rename_all = "kebab-case")]
pub enum Fact {
    ConversationEvents(ConversationFact),
    Acks(AckFact),
    Marks(MarkFact),
}

/// Two deliveries that must end in the same answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Every fact once.
    pub facts: Vec<Fact>,
    /// The same: shuffled, some repeated, some split.
    pub delivered: Vec<Fact>,
}
