use readmark_domain::fact::{AckFact, MAX_RECORD_RANGES, MAX_RECORD_SEQS, Origin, Receipts};
use readmark_domain::id::{ConversationId, Endpoint, Seq, Uid};
use readmark_domain::seq_ranges::SeqRanges;
use readmark_domain::time::TimeMs;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Most messages in one event.
const MAX_MESSAGES: usize = 1_000;

/// A user has read certain messages, by the word of the IM backend.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
pub(crate) struct AckedEvent {
    /// The reader.
    pub uid: Uid,
    /// From which device.
    #[serde(default)]
    pub endpoint: Option<Endpoint>,
    /// The conversation.
    pub conversation_id: ConversationId,
    /// 1 to 1,000.
    #[schemars(length(min = 1, max = 1000))]
    pub messages: Vec<AckedMessage>,
    /// When.
    pub occurred_at: TimeMs,
}

/// One of them.
#[derive(Debug, Clone, Copy, Deserialize, schemars::JsonSchema)]
pub(crate) struct AckedMessage {
    pub seq: Seq,
    pub sender_uid: Uid,
}

impl AckedEvent {
    /// Checks what the types alone can't.
    pub fn check(&self) -> Result<(), String> {
        if (1..=MAX_MESSAGES).contains(&self.messages.len()) {
            Ok(())
        } else {
            Err(format!("messages must have 1 to {MAX_MESSAGES} elements, it has {}", self.messages.len()))
        }
    }

    /// As facts, one or more for each sender. The reader's own messages are left out, as in its own call.
    pub fn facts(&self) -> Vec<AckFact> {
        let mut by_sender: BTreeMap<Uid, Vec<Seq>> = BTreeMap::new();
        for message in self.messages.iter().filter(|message| message.sender_uid != self.uid) {
            by_sender.entry(message.sender_uid).or_default().push(message.seq);
        }
        receipts(self.uid, self.endpoint.as_ref(), &self.conversation_id, by_sender, self.occurred_at)
    }
}

/// Receipts of a client, one record or more for each sender.
pub(crate) fn receipts(
    reader_uid: Uid,
    endpoint: Option<&Endpoint>,
    conversation_id: &ConversationId,
    by_sender: BTreeMap<Uid, Vec<Seq>>,
    occurred_at: TimeMs,
) -> Vec<AckFact> {
    let records = by_sender.into_iter().flat_map(|(sender_uid, seqs)| {
        let pieces = SeqRanges::from_seqs(seqs).split(MAX_RECORD_SEQS, MAX_RECORD_RANGES);
        pieces.into_iter().map(move |seqs| (sender_uid, seqs))
    });
    records
        .map(|(sender_uid, seqs)| {
            AckFact::Receipts(Receipts {
                sender_uid,
                reader_uid,
                conversation_id: conversation_id.clone(),
                seqs,
                endpoint: endpoint.cloned(),
                origin: Origin::Client,
                occurred_at,
            })
        })
        .collect()
}
