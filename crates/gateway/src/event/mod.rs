//! What the IM backend hands in: one event, checked for form.

mod acked;
mod parse;
mod read;

pub(crate) use acked::{AckedEvent, receipts};
pub(crate) use parse::{Event, parse};
pub(crate) use read::ReadEvent;

use readmark_domain::fact::{
    ConversationClosed, ConversationPolicy, MemberJoined, MemberLeft, MessageRecalled, MessageSent,
    SeqSkipped, UserSettings,
};

/// Every event there is, for the description.
#[derive(schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(
    dead_code,
    reason = "only its schema is used: events are parsed one by one, so that each fault is named"
)]
pub(crate) enum AnyEvent {
    MessageSent(MessageSent),
    MessageRecalled(MessageRecalled),
    SeqSkipped(SeqSkipped),
    MemberJoined(MemberJoined),
    MemberLeft(MemberLeft),
    ConversationClosed(ConversationClosed),
    ConversationPolicy(ConversationPolicy),
    UserSettings(UserSettings),
    Acked(AckedEvent),
    Read(ReadEvent),
}
