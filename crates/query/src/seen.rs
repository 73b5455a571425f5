//! Messages with who has read them, as read from the store for one answer.

use crate::access::Refusal;
use crate::state::Query;
use futures::FutureExt;
use readmark_domain::counting::{Message, MessageFlags, Roster, Tally};
use readmark_domain::id::{ConversationId, Seq};
use readmark_domain::read_array::ReadArray;
use readmark_domain::register::ReceiptsMode;
use readmark_domain::seq_ranges::SeqRanges;
use readmark_domain::verdict::Place;
use readmark_http::{Problem, Viewer};
use readmark_runtime::at_once;
use readmark_store::Conversation;
use readmark_store::lookup::places;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Conversations of one request looked at at once.
const READS_AT_ONCE: usize = 16;

/// A message that the viewer may see the tally of.
pub(crate) struct Seen {
    pub message: Message,
    pub flags: MessageFlags,
    pub tally: Tally,
    pub roster: Arc<Roster>,
    pub readers: Arc<ReadArray>,
    /// How old the rows are, in milliseconds; `None` when they were read for this answer.
    pub age_ms: Option<u64>,
}

/// What is to be said of each seq that was asked for.
pub(crate) type SeenBySeq = BTreeMap<Seq, Result<Seen, Refusal>>;

fn is_in_doubt(seen: &SeenBySeq) -> bool {
    seen.values().any(|one| one.as_ref().is_err_and(|refusal| refusal.is_in_doubt()))
}

/// The roster a tally is counted with.
struct Counted {
    roster: Arc<Roster>,
    conversation: Conversation,
    age_ms: Option<u64>,
}

impl Query {
    /// Looks at messages of one conversation.
    ///
    /// The messages come first and the roster after them: who joined before a message is then in the roster,
    /// and a message is never told as read by all before a member of its time is known.
    pub(crate) async fn see(
        &self,
        viewer: Viewer,
        id: &ConversationId,
        seqs: &SeqRanges,
    ) -> Result<SeenBySeq, Problem> {
        let (store, now) = (&*self.ports.store, self.ports.clock.now());
        let mut seen = SeenBySeq::new();
        let mut found = Vec::new();
        for (seq, place) in places(store, id, seqs, self.rules.retention, now).await? {
            match place {
                Place::Message(message, flags) => found.push((message, flags)),
                Place::Skipped | Place::Expired => {
                    seen.insert(seq, Err(Refusal::UnknownMessage { gone: true }));
                }
                Place::Missing { .. } => {
                    seen.insert(seq, Err(Refusal::UnknownMessage { gone: false }));
                }
            }
        }
        if let Some(refusal) = self.refused(viewer, id).await? {
            return Ok(seqs.iter().map(|seq| (seq, Err(refusal))).collect());
        }
        let Some(newest) = found.last().map(|(message, _)| message.seq) else { return Ok(seen) };
        let counted = self.roster(id, newest).await?;
        if counted.roster.mode() == ReceiptsMode::Off {
            let off = found.iter().map(|(message, _)| (message.seq, Err(Refusal::ReceiptsOff)));
            seen.extend(off);
            return Ok(seen);
        }
        for (message, flags, readers, age_ms) in self.with_readers(id, found, &counted).await? {
            let tally = Tally::of(&counted.roster, &message, flags, &readers);
            let roster = counted.roster.clone();
            seen.insert(message.seq, Ok(Seen { message, flags, tally, roster, readers, age_ms }));
        }
        Ok(seen)
    }

    async fn roster(&self, id: &ConversationId, newest: Seq) -> Result<Counted, Problem> {
        let store = &*self.ports.store;
        let conversation = store.conversation(id).await?.unwrap_or_default();
        let load = async {
            let members = store.members(id).await?;
            Ok(Roster::new(&members, &conversation.policy, self.rules.default_receipts))
        };
        if !conversation.large {
            return Ok(Counted { roster: Arc::new(load.await?), conversation, age_ms: None });
        }
        let clock = &*self.ports.clock;
        let aged = self
            .large
            .roster(id, newest, conversation.head, clock, load)
            .await
            .map_err(|error| Problem::from(&*error))?;
        let age_ms = Some(aged.age_ms(clock));
        Ok(Counted { roster: aged.value, conversation, age_ms })
    }

    async fn with_readers(
        &self,
        id: &ConversationId,
        found: Vec<(Message, MessageFlags)>,
        counted: &Counted,
    ) -> Result<Vec<(Message, MessageFlags, Arc<ReadArray>, Option<u64>)>, Problem> {
        let (store, clock) = (&*self.ports.store, &*self.ports.clock);
        let mut all = Vec::with_capacity(found.len());
        if !counted.conversation.large {
            let seqs: Vec<Seq> = found.iter().map(|(message, _)| message.seq).collect();
            let arrays = store.read_arrays(id, &seqs).await?;
            for ((message, flags), readers) in found.into_iter().zip(arrays) {
                all.push((message, flags, Arc::new(readers), None));
            }
            return Ok(all);
        }
        for (message, flags) in found {
            let load = async { Ok(store.read_arrays(id, &[message.seq]).await?.pop().unwrap_or_default()) };
            let aged = self
                .large
                .readers(id, message.seq, clock, load)
                .await
                .map_err(|error| Problem::from(&*error))?;
            let age_ms = counted.age_ms.max(Some(aged.age_ms(clock)));
            all.push((message, flags, aged.value, age_ms));
        }
        Ok(all)
    }

    async fn see_each(
        &self,
        viewer: Viewer,
        asked: impl Iterator<Item = (&ConversationId, &SeqRanges)>,
    ) -> Result<BTreeMap<ConversationId, SeenBySeq>, Problem> {
        let looks = asked.map(|(id, seqs)| {
            async move { Ok::<_, Problem>((id.clone(), self.see(viewer, id, seqs).await?)) }.boxed()
        });
        Ok(at_once::all(READS_AT_ONCE, looks.collect()).await?.into_iter().collect())
    }

    /// As [`Query::see`], and what is refused is refused for sure.
    pub(crate) async fn see_for_sure(
        &self,
        viewer: Viewer,
        asked: &BTreeMap<ConversationId, SeqRanges>,
    ) -> Result<BTreeMap<ConversationId, SeenBySeq>, Problem> {
        let mut all = self.see_each(viewer, asked.iter()).await?;
        let in_doubt: Vec<_> = all
            .iter()
            .filter(|(_, seen)| is_in_doubt(seen))
            .filter_map(|(id, _)| asked.get_key_value(id))
            .collect();
        if in_doubt.is_empty() {
            return Ok(all);
        }
        let look = || async {
            let seen = self.see_each(viewer, in_doubt.iter().copied()).await?;
            Ok(if seen.values().any(is_in_doubt) { Err(seen) } else { Ok(seen) })
        };
        let again = self.sure.look_again(in_doubt.iter().map(|(id, _)| *id), look).await?;
        all.extend(again.unwrap_or_else(|still_refused| still_refused));
        Ok(all)
    }

    /// One message.
    pub(crate) async fn see_one(
        &self,
        viewer: Viewer,
        id: &ConversationId,
        seq: Seq,
    ) -> Result<Seen, Problem> {
        let asked = BTreeMap::from([(id.clone(), SeqRanges::from_seqs([seq]))]);
        let mut all = self.see_for_sure(viewer, &asked).await?;
        let one = all.get_mut(id).and_then(|seen| seen.remove(&seq));
        one.unwrap_or(Err(Refusal::UnknownMessage { gone: false })).map_err(Refusal::problem)
    }
}
