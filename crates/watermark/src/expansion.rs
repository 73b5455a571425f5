//! "Read up to" spelled out as receipts: along the buckets that hold messages, never along a range of seqs,
//! and in bounded steps.

use crate::tools::Tools;
use readmark_domain::fact::{AckFact, Origin, Receipts};
use readmark_domain::id::{ConversationId, Endpoint, Seq, Uid};
use readmark_domain::seq_ranges::SeqRanges;
use readmark_domain::time::TimeMs;
use readmark_events::header_name;
use readmark_log::NewRecord;
use readmark_runtime::role::RoleError;
use readmark_store::{Raise, UserConversation};
use std::collections::BTreeMap;

/// Buckets of one step: at most 2,048 messages, so that a record stays within 10,000 seqs and a step is
/// a few dozen milliseconds.
const BUCKETS_PER_STEP: usize = 16;

/// A mark to be spelled out.
#[derive(Debug, Clone)]
pub(crate) struct Expansion {
    pub up_to: Seq,
    pub endpoint: Option<Endpoint>,
    pub occurred_at: TimeMs,
    /// When the gateway accepted it, for latencies.
    pub accepted_at: Option<TimeMs>,
}

/// Expands `(max(receipted, joined), up_to]`.
pub(crate) async fn expand(
    tools: &Tools,
    uid: Uid,
    id: &ConversationId,
    row: &UserConversation,
    expansion: &Expansion,
) -> Result<(), RoleError> {
    let (store, retrier) = (&*tools.ports.store, &tools.retrier);
    let mut done = row.receipted.max(row.joined);
    while done < expansion.up_to {
        let (first, last) = (done.next().bucket(), expansion.up_to.bucket());
        let buckets = retrier.run(|| store.buckets(id, first, last, BUCKETS_PER_STEP)).await?;
        let step_end = match buckets.last() {
            Some(bucket) if buckets.len() == BUCKETS_PER_STEP => {
                Seq::bucket_bounds(bucket.bucket).1.min(expansion.up_to)
            }
            _ => expansion.up_to,
        };
        let mut by_sender: BTreeMap<Uid, Vec<Seq>> = BTreeMap::new();
        for bucket in buckets {
            let (from, to) = Seq::bucket_bounds(bucket.bucket);
            let (from, to) = (from.max(done.next()), to.min(step_end));
            for message in retrier.run(|| store.messages(id, from, to)).await? {
                if message.sender_uid != uid {
                    by_sender.entry(message.sender_uid).or_default().push(message.seq);
                }
            }
        }
        produce(tools, uid, id, expansion, by_sender).await?;
        let expanded = [Raise::Receipted(step_end)];
        retrier.run(|| store.raise(uid, id, &expanded)).await?;
        done = step_end;
    }
    Ok(())
}

async fn produce(
    tools: &Tools,
    uid: Uid,
    id: &ConversationId,
    expansion: &Expansion,
    by_sender: BTreeMap<Uid, Vec<Seq>>,
) -> Result<(), RoleError> {
    let mut records = Vec::with_capacity(by_sender.len());
    for (sender_uid, seqs) in by_sender {
        let seqs = SeqRanges::from_seqs(seqs);
        tools.metrics.expansion_receipts_total.inc_by(seqs.count());
        let mut record = NewRecord::of(&AckFact::Receipts(Receipts {
            sender_uid,
            reader_uid: uid,
            conversation_id: id.clone(),
            seqs,
            endpoint: expansion.endpoint.clone(),
            origin: Origin::Expansion,
            occurred_at: expansion.occurred_at,
        }))?;
        if let Some(accepted_at) = expansion.accepted_at {
            record = record.with_header(header_name::ACCEPTED_AT_MS, accepted_at);
        }
        records.push(record);
    }
    if !records.is_empty() {
        tools.retrier.run(|| tools.ports.log.append(records.clone())).await?;
    }
    Ok(())
}
