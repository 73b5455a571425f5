use super::{Table, lines};
use readmark_domain::id::{ConversationId, Seq, Uid, seq_or_zero};
use readmark_domain::register::ReceiptsMode;
use readmark_runtime::ports::{Ports, Rules};
use readmark_store::StoreError;
use serde::{Deserialize, Serialize};

/// A conversation and its members.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ConversationView {
    pub conversation_id: ConversationId,
    /// Is anything known of it?
    pub known: bool,
    #[serde(with = "seq_or_zero")]
    pub head_seq: Seq,
    #[serde(with = "seq_or_zero")]
    pub imported_head_seq: Seq,
    pub receipts: ReceiptsMode,
    pub closed: bool,
    pub large: bool,
    pub present_count: usize,
    pub members: Vec<MemberView>,
}

/// A member, present or absent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MemberView {
    pub uid: Uid,
    pub present: bool,
    #[serde(with = "seq_or_zero")]
    pub joined_seq: Seq,
    /// Receipts on or off, as copied from the user's settings.
    pub receipts: bool,
    /// The highest "read up to" asked.
    #[serde(with = "seq_or_zero")]
    pub claimed_seq: Seq,
}

/// Reads it.
pub(crate) async fn view(
    ports: &Ports,
    rules: &Rules,
    id: &ConversationId,
) -> Result<ConversationView, StoreError> {
    let row = ports.store.conversation(id).await?;
    let members: Vec<MemberView> = ports
        .store
        .members(id)
        .await?
        .into_iter()
        .map(|member| MemberView {
            uid: member.uid,
            present: member.is_present(),
            joined_seq: member.joined,
            receipts: member.switches.in_force(true),
            claimed_seq: member.claimed,
        })
        .collect();
    let known = row.is_some() || !members.is_empty();
    let row = row.unwrap_or_default();
    Ok(ConversationView {
        conversation_id: id.clone(),
        known,
        head_seq: row.head,
        imported_head_seq: row.imported_head,
        receipts: row.policy.in_force(rules.default_receipts),
        closed: row.is_closed(),
        large: row.large,
        present_count: members.iter().filter(|member| member.present).count(),
        members,
    })
}

impl Table for ConversationView {
    fn table(&self) -> String {
        let mut text = lines(&[
            ("conversation", self.conversation_id.to_string()),
            ("known", self.known.to_string()),
            ("head", self.head_seq.to_string()),
            ("imported head", self.imported_head_seq.to_string()),
            ("receipts", self.receipts.as_str().to_owned()),
            ("closed", self.closed.to_string()),
            ("large", self.large.to_string()),
            ("members", format!("{} present, {} rows", self.present_count, self.members.len())),
        ]);
        text.push_str("\nuid                  present  joined            receipts  claimed\n");
        for member in &self.members {
            text.push_str(&format!(
                "{:<20} {:<8} {:<17} {:<9} {}\n",
                member.uid, member.present, member.joined_seq, member.receipts, member.claimed_seq
            ));
        }
        text
    }
}
