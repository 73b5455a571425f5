use super::Table;
use readmark_domain::id::{ConversationId, Endpoint, Seq, Uid, seq_or_zero};
use readmark_runtime::ports::Ports;
use readmark_store::lookup::count_uncounted;
use readmark_store::{StoreError, UserConversationEntry};
use serde::{Deserialize, Serialize};

/// Conversations read in one page.
const PAGE: usize = 256;

/// A user's settings and registers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct UserView {
    pub uid: Uid,
    /// Receipts on or off.
    pub receipts: bool,
    pub conversations: Vec<RegistersView>,
}

/// Its registers in one conversation.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RegistersView {
    pub conversation_id: ConversationId,
    pub present: bool,
    #[serde(with = "seq_or_zero")]
    pub head_seq: Seq,
    #[serde(with = "seq_or_zero")]
    pub floor_seq: Seq,
    /// Countable messages above the floor; what `GET /v1/unread` answers when present and not closed.
    pub unread: u64,
    #[serde(with = "seq_or_zero")]
    pub read_seq: Seq,
    pub read_endpoint: Option<Endpoint>,
    #[serde(with = "seq_or_zero")]
    pub joined_seq: Seq,
    #[serde(with = "seq_or_zero")]
    pub cleared_seq: Seq,
    #[serde(with = "seq_or_zero")]
    pub own_seq: Seq,
    #[serde(with = "seq_or_zero")]
    pub claimed_seq: Seq,
    #[serde(with = "seq_or_zero")]
    pub receipted_seq: Seq,
    #[serde(with = "seq_or_zero")]
    pub imported_seq: Seq,
}

/// Reads it.
pub(crate) async fn view(ports: &Ports, uid: Uid) -> Result<UserView, StoreError> {
    let store = &*ports.store;
    let receipts = store.user_switches(uid).await?.in_force(true);
    let mut conversations = Vec::new();
    let mut after: Option<ConversationId> = None;
    loop {
        let page = store.user_conversations(uid, after.as_ref(), PAGE).await?;
        let last = page.last().map(|entry| entry.conversation_id.clone()).filter(|_| page.len() == PAGE);
        for entry in page {
            conversations.push(registers(ports, entry).await?);
        }
        if last.is_none() {
            return Ok(UserView { uid, receipts, conversations });
        }
        after = last;
    }
}

async fn registers(ports: &Ports, entry: UserConversationEntry) -> Result<RegistersView, StoreError> {
    let UserConversationEntry { conversation_id, registers } = entry;
    let head = ports.store.conversation(&conversation_id).await?.unwrap_or_default().head;
    let floor = registers.floor();
    let uncounted = count_uncounted(&*ports.store, &conversation_id, floor, head).await?;
    Ok(RegistersView {
        conversation_id,
        present: registers.is_present(),
        head_seq: head,
        floor_seq: floor,
        unread: readmark_domain::unread::unread(head, floor, uncounted),
        read_seq: registers.read.seq,
        read_endpoint: registers.read.endpoint,
        joined_seq: registers.joined,
        cleared_seq: registers.cleared,
        own_seq: registers.own,
        claimed_seq: registers.claimed,
        receipted_seq: registers.receipted,
        imported_seq: registers.imported,
    })
}

impl Table for UserView {
    fn table(&self) -> String {
        let mut text =
            format!("user {}, receipts {}\n\n", self.uid, if self.receipts { "on" } else { "off" });
        text.push_str("conversation          present  head     floor    unread   read     joined   cleared  own      claimed  receipted\n");
        for row in &self.conversations {
            text.push_str(&format!(
                "{:<21} {:<8} {:<8} {:<8} {:<8} {:<8} {:<8} {:<8} {:<8} {:<8} {}\n",
                row.conversation_id.as_str(),
                row.present,
                row.head_seq,
                row.floor_seq,
                row.unread,
                row.read_seq,
                row.joined_seq,
                row.cleared_seq,
                row.own_seq,
                row.claimed_seq,
                row.receipted_seq
            ));
        }
        text
    }
}
