//! What a batch asks of one user's registers in one conversation. Everything here is a merge, so the facts
//! of a batch become one write, whatever their order.

use crate::expansion::{Expansion, expand};
use crate::tools::Tools;
use readmark_domain::id::{ConversationId, Endpoint, Seq, Uid};
use readmark_domain::invariant::NeverFalls;
use readmark_domain::register::Latest;
use readmark_domain::time::TimeMs;
use readmark_events::{ConversationRead, FlagsChanged, ReadChanged};
use readmark_log::{NewRecord, Position};
use readmark_runtime::role::RoleError;
use readmark_store::{Raise, UserConversation};

/// Facts about one user in one conversation.
#[derive(Debug, Default)]
pub(crate) struct Change {
    pub raises: Vec<Raise>,
    /// The highest "read up to" asked: expanded into receipts.
    pub expand: Option<Expansion>,
    /// A flag was set: tell the flags.
    pub flags: bool,
    /// A mark was raised: tell the marks.
    pub marks: bool,
    /// The device of the newest fact.
    pub endpoint: Option<Endpoint>,
    pub positions: Vec<Position>,
}

impl Change {
    /// A "read up to": raises read and claimed, takes away marked_unread, is expanded.
    pub fn read_up_to(&mut self, expansion: Expansion) {
        let Expansion { up_to, ref endpoint, occurred_at, .. } = expansion;
        self.raise_read(up_to, endpoint.clone(), occurred_at);
        self.raises.push(Raise::Claimed(up_to));
        self.raises.push(not_marked_unread(occurred_at));
        if self.expand.as_ref().is_none_or(|known| known.up_to < up_to) {
            self.expand = Some(expansion);
        }
    }

    /// Receipts: raise read to the highest of them.
    pub fn raise_read(&mut self, seq: Seq, endpoint: Option<Endpoint>, read_at: TimeMs) {
        self.raises.push(Raise::Read { seq, read_at, endpoint });
        self.marks = true;
    }

    /// A clear.
    pub fn clear(&mut self, up_to: Seq, occurred_at: TimeMs) {
        self.raises.push(Raise::Cleared(up_to));
        self.raises.push(not_marked_unread(occurred_at));
        self.marks = true;
    }

    /// An imported watermark: makes no receipts.
    pub fn import(&mut self, seq: Seq, read_at: TimeMs) {
        self.raise_read(seq, None, read_at);
        self.raises.push(Raise::Receipted(seq));
        self.raises.push(Raise::Imported(seq));
    }

    /// A flag.
    pub fn flag(&mut self, raise: Raise, endpoint: Option<Endpoint>) {
        self.raises.push(raise);
        self.flags = true;
        self.endpoint = endpoint.or(self.endpoint.take());
    }

    /// Writes, reads back, tells, expands. In this order.
    pub async fn apply(
        self,
        tools: &Tools,
        uid: Uid,
        id: &ConversationId,
    ) -> Result<Vec<Position>, RoleError> {
        let (store, retrier) = (&*tools.ports.store, &tools.retrier);
        retrier.run(|| store.raise(uid, id, &self.raises)).await?;
        let row = retrier.run(|| store.user_conversation(uid, id)).await?.unwrap_or_default();
        self.watch_for_regress(tools, uid, id, &row);
        let records = self.told(uid, id, &row)?;
        retrier.run(|| tools.ports.log.append(records.clone())).await?;
        if let Some(expansion) = &self.expand {
            expand(tools, uid, id, &row, expansion).await?;
        }
        Ok(self.positions)
    }

    /// A write that resolved and is not there was lost by the store.
    fn watch_for_regress(&self, tools: &Tools, uid: Uid, id: &ConversationId, row: &UserConversation) {
        let written = self.raises.iter().filter_map(|raise| match raise {
            Raise::Read { seq, .. } => Some(*seq),
            Raise::Cleared(_)
            | Raise::Own(_)
            | Raise::Claimed(_)
            | Raise::Receipted(_)
            | Raise::Imported(_)
            | Raise::Muted(_)
            | Raise::MarkedUnread(_) => None,
        });
        let Some(before) = written.max() else { return };
        let held = tools.shared.watch(NeverFalls { before, after: row.read.seq }.check());
        if !held {
            tools.metrics.regress_total.inc();
            tracing::error!(%uid, conversation_id = %id, "a watermark was read back lower than it was written");
        }
    }

    /// The registers as read back, never the fact's own value.
    fn told(
        &self,
        uid: Uid,
        id: &ConversationId,
        row: &UserConversation,
    ) -> Result<Vec<NewRecord>, RoleError> {
        let mut told = Vec::new();
        if self.marks {
            told.push(ReadChanged::ConversationRead(ConversationRead {
                uid,
                conversation_id: id.clone(),
                read_seq: row.read.seq,
                floor_seq: row.floor(),
                endpoint: row.read.endpoint.clone(),
                marked_unread: row.marked_unread,
            }));
        }
        if self.flags {
            told.push(ReadChanged::FlagsChanged(FlagsChanged {
                uid,
                conversation_id: id.clone(),
                marked_unread: row.marked_unread,
                muted: row.muted,
                endpoint: self.endpoint.clone(),
            }));
        }
        Ok(told.iter().map(NewRecord::of).collect::<Result<_, _>>()?)
    }
}

fn not_marked_unread(occurred_at: TimeMs) -> Raise {
    Raise::MarkedUnread(Latest { order: occurred_at.as_order(), value: false })
}
