use super::change::Cause;
use super::message_count::MessageCount;
use super::row::Row;
use super::token::Version;
use crate::counting::TallyVersion;
use crate::id::{ConversationId, Endpoint, Seq, Uid, count, seq_or_zero};
use crate::register::ReceiptsMode;
use serde::{Deserialize, Serialize};

/// An entry of a user's sync stream, as devices get it: values are absolute, so an older one never wins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Entry {
    /// Its number.
    pub version: Version,
    /// What it tells.
    #[serde(flatten)]
    pub news: News,
}

/// What an entry tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum News {
    /// The user has read or cleared on some device.
    ConversationRead {
        /// Which conversation.
        conversation_id: ConversationId,
        /// The watermark.
        #[serde(with = "seq_or_zero")]
        #[schemars(schema_with = "seq_or_zero::schema")]
        read_seq: Seq,
        /// The seq up to which nothing is unread.
        #[serde(with = "seq_or_zero")]
        #[schemars(schema_with = "seq_or_zero::schema")]
        floor_seq: Seq,
        /// From which device, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        endpoint: Option<Endpoint>,
        /// Was it the device that this is delivered to? See [`Entry::delivered_to`].
        own: bool,
        /// Countable messages above the floor.
        unread: MessageCount,
        /// Those of them that mention the user.
        mentions: MessageCount,
        /// Marked by hand.
        marked_unread: bool,
        /// Over all conversations that are not muted.
        total_unread: MessageCount,
        /// The same of mentions.
        total_mentions: MessageCount,
    },
    /// Anything else changed what is unread, or the row itself; a conversation that was closed or left is told
    /// with nothing unread.
    UnreadChanged {
        /// Which conversation.
        conversation_id: ConversationId,
        /// The newest seq.
        #[serde(with = "seq_or_zero")]
        #[schemars(schema_with = "seq_or_zero::schema")]
        head_seq: Seq,
        /// The seq up to which nothing is unread.
        #[serde(with = "seq_or_zero")]
        #[schemars(schema_with = "seq_or_zero::schema")]
        floor_seq: Seq,
        /// Countable messages above the floor.
        unread: MessageCount,
        /// Those of them that mention the user.
        mentions: MessageCount,
        /// Marked by hand.
        marked_unread: bool,
        /// Left out of the totals.
        muted: bool,
        /// Over all conversations that are not muted.
        total_unread: MessageCount,
        /// The same of mentions.
        total_mentions: MessageCount,
    },
    /// To the sender: N/M of a message changed.
    MessageRead {
        /// Which conversation.
        conversation_id: ConversationId,
        /// The message.
        seq: Seq,
        /// The conversation's policy.
        mode: ReceiptsMode,
        /// N.
        #[serde(with = "count")]
        #[schemars(schema_with = "count::schema")]
        read: u32,
        /// M.
        #[serde(with = "count")]
        #[schemars(schema_with = "count::schema")]
        total: u32,
        /// Readers this change added, in conversations of up to 500 members; may be left out.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        readers_added: Vec<Uid>,
        /// The greater is the newer.
        tally_version: TallyVersion,
    },
}

impl Entry {
    /// With `own` as it is for this device.
    #[must_use]
    pub fn delivered_to(mut self, device: Option<&Endpoint>) -> Self {
        if let News::ConversationRead { endpoint, own, .. } = &mut self.news {
            *own = device.is_some() && endpoint.as_ref() == device;
        }
        self
    }
}

/// What must be told when the row of a conversation went from `before` to `after`: nothing when nothing changed;
/// one entry, or two when one kind can't hold all of it (a whole change that brings both a mark and a head).
///
/// `total` and `total_mentions` are the user's totals afterwards.
pub(super) fn news(
    id: &ConversationId,
    before: Option<Row>,
    after: Option<Row>,
    cause: &Cause,
    (total_unread, total_mentions): (MessageCount, MessageCount),
) -> Vec<News> {
    let Some(kinds) = kinds(before, after, cause) else { return Vec::new() };
    // Of a row that is gone, where it was: with nothing unread.
    let gone = || {
        before.map(|row| Row {
            unread: MessageCount::ZERO,
            mentions: MessageCount::ZERO,
            marked_unread: false,
            ..row
        })
    };
    let Some(row) = after.or_else(gone) else { return Vec::new() };
    let conversation_read = || News::ConversationRead {
        conversation_id: id.clone(),
        read_seq: row.read,
        floor_seq: row.floor,
        endpoint: match cause {
            Cause::Read(endpoint) => endpoint.clone(),
            Cause::Other => None,
        },
        own: false,
        unread: row.unread,
        mentions: row.mentions,
        marked_unread: row.marked_unread,
        total_unread,
        total_mentions,
    };
    let unread_changed = || News::UnreadChanged {
        conversation_id: id.clone(),
        head_seq: row.head,
        floor_seq: row.floor,
        unread: row.unread,
        mentions: row.mentions,
        marked_unread: row.marked_unread,
        muted: row.muted,
        total_unread,
        total_mentions,
    };
    let mut news = Vec::new();
    if kinds.conversation_read {
        news.push(conversation_read());
    }
    if kinds.unread_changed {
        news.push(unread_changed());
    }
    news
}

struct Kinds {
    conversation_read: bool,
    unread_changed: bool,
}

/// A `conversation_read` has the mark, an `unread_changed` the head and whether it is muted. Which one tells the
/// rest is the cause's to say.
fn kinds(before: Option<Row>, after: Option<Row>, cause: &Cause) -> Option<Kinds> {
    if before == after {
        return None;
    }
    let (Some(old), Some(new)) = (before, after) else {
        // A device that never saw the row, or dropped it, does not know its mark.
        let is_mark_new = after.is_some_and(|row| row.read > Seq::ZERO);
        return Some(Kinds { conversation_read: is_mark_new, unread_changed: true });
    };
    let conversation_read = new.read != old.read || matches!(cause, Cause::Read(_));
    let other = new.head != old.head || new.muted != old.muted;
    Some(Kinds { conversation_read, unread_changed: other || !conversation_read })
}
