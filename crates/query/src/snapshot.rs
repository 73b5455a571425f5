use readmark_domain::hot::{Picture, PictureRow, SyncToken};
use readmark_domain::id::{ConversationId, Seq, seq_or_zero};
use readmark_http::Decimal;
use serde::Serialize;
use std::cmp::Reverse;

/// What a user has unread.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct Snapshot {
    /// Over every conversation that is not muted, listed or not.
    total: Decimal,
    /// The same of mentions.
    mentions: Decimal,
    /// Newest head first.
    conversations: Vec<ConversationUnread>,
    /// From before this state: following it misses nothing.
    token: SyncToken,
}

/// One conversation of a user.
#[derive(Debug, Serialize, schemars::JsonSchema)]
struct ConversationUnread {
    conversation_id: ConversationId,
    /// Countable messages above the floor.
    unread: Decimal,
    /// Those of them that mention the user.
    mentions: Decimal,
    #[serde(with = "seq_or_zero")]
    #[schemars(schema_with = "seq_or_zero::schema")]
    head_seq: Seq,
    #[serde(with = "seq_or_zero")]
    #[schemars(schema_with = "seq_or_zero::schema")]
    read_seq: Seq,
    #[serde(with = "seq_or_zero")]
    #[schemars(schema_with = "seq_or_zero::schema")]
    floor_seq: Seq,
    marked_unread: bool,
    muted: bool,
}

impl Snapshot {
    /// Of a picture, with the newest `most` of the rows that `listed` takes. Newest is said by the time of the newest
    /// message, since seqs of different conversations don't compare.
    pub(crate) fn listing(picture: Picture, most: usize, listed: impl Fn(&PictureRow) -> bool) -> Self {
        let mut rows = picture.rows;
        rows.retain(listed);
        // Ascending by id before: so it stays among those of one time.
        rows.sort_by_key(|row| Reverse(row.newest_sent_at));
        rows.truncate(most);
        Self {
            total: Decimal(picture.total.get()),
            mentions: Decimal(picture.total_mentions.get()),
            conversations: rows.into_iter().map(ConversationUnread::from).collect(),
            token: picture.token,
        }
    }
}

/// With every row.
impl From<Picture> for Snapshot {
    fn from(picture: Picture) -> Self {
        Self::listing(picture, usize::MAX, |_| true)
    }
}

impl From<PictureRow> for ConversationUnread {
    fn from(one: PictureRow) -> Self {
        Self {
            conversation_id: one.conversation_id,
            unread: Decimal(one.row.unread.get()),
            mentions: Decimal(one.row.mentions.get()),
            head_seq: one.row.head,
            read_seq: one.row.read,
            floor_seq: one.row.floor,
            marked_unread: one.row.marked_unread,
            muted: one.row.muted,
        }
    }
}
