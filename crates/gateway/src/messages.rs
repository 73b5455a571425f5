use moka::future::Cache;
use readmark_domain::counting::Message;
use readmark_domain::counting::MessageFlags;
use readmark_domain::id::{ConversationId, Seq};
use readmark_domain::seq_ranges::SeqRanges;
use readmark_domain::time::TimeMs;
use readmark_domain::verdict::{Place, Retention};
use readmark_store::lookup::places;
use readmark_store::{ReceiptStore, StoreError};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a message is remembered. Messages are written once, so only a seq that is declared skipped
/// afterwards is answered by what was known before, and no longer than this.
const KEPT: Duration = Duration::from_secs(60);

/// What is at each seq, with a memory of messages. What is not there is never remembered.
pub(crate) struct Messages {
    known: Cache<(ConversationId, Seq), Message>,
}

impl Messages {
    pub fn new(max_entries: u64) -> Self {
        Self { known: Cache::builder().max_capacity(max_entries).time_to_live(KEPT).build() }
    }

    /// As [`places`]; the flags of a message are not looked at.
    pub async fn places(
        &self,
        store: &dyn ReceiptStore,
        id: &ConversationId,
        seqs: impl IntoIterator<Item = Seq>,
        retention: Retention,
        now: TimeMs,
    ) -> Result<BTreeMap<Seq, Place>, StoreError> {
        let mut all = BTreeMap::new();
        let mut unknown = Vec::new();
        for seq in seqs {
            match self.known.get(&(id.clone(), seq)).await {
                Some(message) if !retention.is_expired(message.sent_at, now) => {
                    all.insert(seq, Place::Message(message, MessageFlags::default()));
                }
                Some(_) | None => unknown.push(seq),
            }
        }
        for (seq, place) in places(store, id, &SeqRanges::from_seqs(unknown), retention, now).await? {
            if let Place::Message(message, _) = &place {
                self.known.insert((id.clone(), seq), message.clone()).await;
            }
            all.insert(seq, place);
        }
        Ok(all)
    }
}
