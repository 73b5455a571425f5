//! Recounts: when who counts has changed, senders are told their tallies again.

use crate::ports::Ports;
use crate::retry::Retrier;
use crate::role::RoleError;
use readmark_domain::fact::{AckFact, Recount};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::seq_ranges::SeqRanges;
use readmark_domain::window::TOLD_NEWEST_MESSAGES;
use readmark_log::NewRecord;
use readmark_store::lookup::newest_messages;
use std::collections::BTreeMap;

/// The recounts for the senders of the newest 1,000 messages above `above`, and of those that the head is about
/// to be raised to; one record per sender.
///
/// # Errors
/// What no repetition heals.
pub async fn recounts_above(
    ports: &Ports,
    retrier: &Retrier,
    conversation_id: &ConversationId,
    above: Seq,
) -> Result<Vec<NewRecord>, RoleError> {
    let store = &*ports.store;
    let conversation = retrier.run(|| store.conversation(conversation_id)).await?.unwrap_or_default();
    let head = conversation.head;
    let mut newest =
        retrier.run(|| newest_messages(store, conversation_id, above, head, TOLD_NEWEST_MESSAGES)).await?;
    // A message is there, and may have been told, a moment before the head is raised to it.
    let buckets = retrier.run(|| store.newest_buckets(conversation_id, 1)).await?;
    let top = buckets.first().map_or(head, |bucket| Seq::bucket_bounds(bucket.bucket).1);
    let past = above.max(head);
    newest.extend(
        retrier.run(|| newest_messages(store, conversation_id, past, top, TOLD_NEWEST_MESSAGES)).await?,
    );
    let mut by_sender: BTreeMap<Uid, Vec<Seq>> = BTreeMap::new();
    for message in newest {
        by_sender.entry(message.sender_uid).or_default().push(message.seq);
    }
    let occurred_at = ports.clock.now();
    let records = by_sender.into_iter().map(|(sender_uid, seqs)| {
        NewRecord::of(&AckFact::Recount(Recount {
            sender_uid,
            conversation_id: conversation_id.clone(),
            seqs: SeqRanges::from_seqs(seqs),
            occurred_at,
        }))
    });
    Ok(records.collect::<Result<_, _>>()?)
}
