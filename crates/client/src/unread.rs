use readmark_domain::hot::{Entry, MessageCount, News};
use readmark_domain::id::{ConversationId, Seq, seq_or_zero};
use serde::Deserialize;
use std::collections::BTreeMap;

/// What is unread in one conversation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct UnreadRow {
    /// Countable messages above the floor.
    pub unread: MessageCount,
    /// Those of them that mention the user.
    pub mentions: MessageCount,
    /// The newest seq.
    #[serde(with = "seq_or_zero")]
    pub head_seq: Seq,
    /// The watermark.
    #[serde(with = "seq_or_zero")]
    pub read_seq: Seq,
    /// The seq up to which nothing is unread.
    #[serde(with = "seq_or_zero")]
    pub floor_seq: Seq,
    /// Marked by hand.
    pub marked_unread: bool,
    /// Left out of the totals.
    pub muted: bool,
}

/// A whole picture, as the server sends it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Snapshot {
    /// Over all conversations that are not muted.
    pub total: MessageCount,
    /// The same of mentions.
    pub mentions: MessageCount,
    /// Every conversation.
    pub conversations: Vec<SnapshotRow>,
}

/// One row of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SnapshotRow {
    /// Which.
    pub conversation_id: ConversationId,
    /// What is unread.
    #[serde(flatten)]
    pub row: UnreadRow,
}

/// What a user has unread, kept from a snapshot and the entries after it.
///
/// Entries have absolute values and no gaps, so keeping them is replacing what they name. Who follows the stream
/// drops what is not newer than its token; this only merges.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unread {
    rows: BTreeMap<ConversationId, UnreadRow>,
    total: MessageCount,
    mentions: MessageCount,
}

impl Unread {
    /// Over all conversations that are not muted.
    #[must_use]
    pub const fn total(&self) -> MessageCount {
        self.total
    }

    /// The same of mentions.
    #[must_use]
    pub const fn mentions(&self) -> MessageCount {
        self.mentions
    }

    /// Every conversation that was told, ascending by id; one that was left or closed stays, with nothing unread.
    pub fn rows(&self) -> impl Iterator<Item = (&ConversationId, &UnreadRow)> {
        self.rows.iter()
    }

    /// One conversation.
    #[must_use]
    pub fn row(&self, id: &ConversationId) -> Option<&UnreadRow> {
        self.rows.get(id)
    }

    /// Replaces everything.
    pub fn replace(&mut self, snapshot: Snapshot) {
        self.rows = snapshot.conversations.into_iter().map(|one| (one.conversation_id, one.row)).collect();
        (self.total, self.mentions) = (snapshot.total, snapshot.mentions);
    }

    /// Takes an entry over; says whether it was about unread.
    pub fn apply(&mut self, entry: &Entry) -> bool {
        match &entry.news {
            News::ConversationRead {
                conversation_id,
                read_seq,
                floor_seq,
                unread,
                mentions,
                marked_unread,
                total_unread,
                total_mentions,
                ..
            } => {
                let row = self.rows.entry(conversation_id.clone()).or_insert_with(UnreadRow::new);
                (row.read_seq, row.floor_seq) = (*read_seq, *floor_seq);
                (row.unread, row.mentions, row.marked_unread) = (*unread, *mentions, *marked_unread);
                (self.total, self.mentions) = (*total_unread, *total_mentions);
                true
            }
            News::UnreadChanged {
                conversation_id,
                head_seq,
                floor_seq,
                unread,
                mentions,
                marked_unread,
                muted,
                total_unread,
                total_mentions,
            } => {
                let row = self.rows.entry(conversation_id.clone()).or_insert_with(UnreadRow::new);
                (row.head_seq, row.floor_seq, row.muted) = (*head_seq, *floor_seq, *muted);
                (row.unread, row.mentions, row.marked_unread) = (*unread, *mentions, *marked_unread);
                (self.total, self.mentions) = (*total_unread, *total_mentions);
                true
            }
            News::MessageRead { .. } => false,
        }
    }
}

impl UnreadRow {
    const fn new() -> Self {
        Self {
            unread: MessageCount::ZERO,
            mentions: MessageCount::ZERO,
            head_seq: Seq::ZERO,
            read_seq: Seq::ZERO,
            floor_seq: Seq::ZERO,
            marked_unread: false,
            muted: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(value: serde_json::Value) -> Entry {
        serde_json::from_value(value).expect("an entry")
    }

    #[test]
    fn a_snapshot_then_entries() {
        let mut unread = Unread::default();
        let snapshot = json!({"total": "3", "mentions": "0", "conversations": [
            {"conversation_id": "c1", "unread": "3", "mentions": "0", "head_seq": "5", "read_seq": "2",
             "floor_seq": "2", "marked_unread": false, "muted": false}]});
        unread.replace(serde_json::from_value(snapshot).expect("a snapshot"));
        assert_eq!(unread.total().get(), 3);
        assert!(unread.apply(&entry(json!({
            "version": "1", "kind": "conversation_read", "conversation_id": "c1", "read_seq": "5",
            "floor_seq": "5", "own": false, "unread": "0", "mentions": "0", "marked_unread": false,
            "total_unread": "0", "total_mentions": "0"}))));
        let row = unread.row(&"c1".parse().expect("an id")).expect("a row");
        assert_eq!((row.unread.get(), row.read_seq.get(), row.head_seq.get()), (0, 5, 5));
        assert!(unread.apply(&entry(json!({
            "version": "2", "kind": "unread_changed", "conversation_id": "c2", "head_seq": "1", "floor_seq": "0",
            "unread": "1", "mentions": "1", "marked_unread": false, "muted": false, "total_unread": "1",
            "total_mentions": "1"}))));
        assert_eq!((unread.total().get(), unread.mentions().get(), unread.rows().count()), (1, 1, 2));
    }
}
