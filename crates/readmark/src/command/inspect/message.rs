use super::{Table, lines};
use readmark_domain::counting::{Roster, Tally, TallyVersion, lists};
use readmark_domain::id::{ConversationId, MsgId, Seq, Uid, count};
use readmark_domain::register::ReceiptsMode;
use readmark_domain::seq_ranges::SeqRanges;
use readmark_domain::time::TimeMs;
use readmark_domain::verdict::Place;
use readmark_runtime::ports::{Ports, Rules};
use readmark_store::StoreError;
use readmark_store::lookup::places;
use serde::{Deserialize, Serialize};

/// A place in a conversation, and what is there.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MessageView {
    pub conversation_id: ConversationId,
    pub seq: Seq,
    /// message, skipped, expired, not-there-yet or beyond-head.
    pub place: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageDetails>,
}

/// A message with its tally.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MessageDetails {
    pub msg_id: MsgId,
    pub sender_uid: Uid,
    pub sent_at: TimeMs,
    pub countable: bool,
    pub recalled: bool,
    pub chunks: u16,
    pub mode: ReceiptsMode,
    #[serde(with = "count")]
    pub read: u32,
    #[serde(with = "count")]
    pub total: u32,
    pub version: TallyVersion,
    /// Who counts and has read it.
    pub readers: Vec<Uid>,
    /// Who counts and has not.
    pub unread_members: Vec<Uid>,
    /// Who is in the read array and does not count: left, joined later, receipts off.
    pub uncounted_readers: Vec<Uid>,
}

/// Reads it.
pub(crate) async fn view(
    ports: &Ports,
    rules: &Rules,
    id: &ConversationId,
    seq: Seq,
) -> Result<MessageView, StoreError> {
    let store = &*ports.store;
    let found = places(store, id, &SeqRanges::from_seqs([seq]), rules.retention, ports.clock.now()).await?;
    let place = found.into_iter().next().map(|(_, place)| place);
    let (word, message) = match place {
        Some(Place::Message(message, flags)) => {
            let arrays = store.read_arrays(id, &[seq]).await?;
            let array = arrays.into_iter().next().unwrap_or_default();
            let conversation = store.conversation(id).await?.unwrap_or_default();
            let members = store.members(id).await?;
            let roster = Roster::new(&members, &conversation.policy, rules.default_receipts);
            let tally = Tally::of(&roster, &message, flags, &array);
            let (readers, unread_members) = lists(&roster, &message, flags, &array);
            let uncounted = array.readers().iter().copied().filter(|uid| readers.binary_search(uid).is_err());
            let details = MessageDetails {
                msg_id: message.msg_id,
                sender_uid: message.sender_uid,
                sent_at: message.sent_at,
                countable: message.countable,
                recalled: flags.recalled,
                chunks: message.chunks,
                mode: tally.mode,
                read: tally.read,
                total: tally.total,
                version: tally.version,
                uncounted_readers: uncounted.collect(),
                readers,
                unread_members,
            };
            ("message", Some(details))
        }
        Some(Place::Skipped) => ("skipped", None),
        Some(Place::Expired) => ("expired", None),
        Some(Place::Missing { beyond_head: false }) => ("not-there-yet", None),
        Some(Place::Missing { beyond_head: true }) | None => ("beyond-head", None),
    };
    Ok(MessageView { conversation_id: id.clone(), seq, place: word.to_owned(), message })
}

impl Table for MessageView {
    fn table(&self) -> String {
        let mut rows = vec![
            ("conversation", self.conversation_id.to_string()),
            ("seq", self.seq.to_string()),
            ("place", self.place.clone()),
        ];
        if let Some(message) = &self.message {
            rows.extend([
                ("msg_id", message.msg_id.to_string()),
                ("sender", message.sender_uid.to_string()),
                ("sent_at", message.sent_at.to_string()),
                ("countable", message.countable.to_string()),
                ("recalled", message.recalled.to_string()),
                ("mode", message.mode.as_str().to_owned()),
                ("read", format!("{}/{}", message.read, message.total)),
                ("version", message.version.to_string()),
                ("chunks", message.chunks.to_string()),
                ("readers", named(&message.readers)),
                ("not read by", named(&message.unread_members)),
                ("uncounted", named(&message.uncounted_readers)),
            ]);
        }
        lines(&rows)
    }
}

/// Uids for a terminal: the first twenty, and how many more.
fn named(uids: &[Uid]) -> String {
    const SHOWN: usize = 20;
    let shown: Vec<String> = uids.iter().take(SHOWN).map(Uid::to_string).collect();
    match uids.len().saturating_sub(SHOWN) {
        0 if shown.is_empty() => "-".to_owned(),
        0 => shown.join(" "),
        more => format!("{} and {more} more", shown.join(" ")),
    }
}
