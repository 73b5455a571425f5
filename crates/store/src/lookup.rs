//! Reads that several roles need, in terms of the port.

use crate::error::StoreError;
use crate::port::{MessageStore, ReceiptStore};
use readmark_domain::counting::{Message, MessageFlags};
use readmark_domain::id::{ConversationId, Seq};
use readmark_domain::seq_ranges::SeqRanges;
use readmark_domain::time::TimeMs;
use readmark_domain::verdict::{Place, PlaceFacts, Retention, place};
use std::collections::BTreeMap;

/// Flags read in one call; the loop asks again after the last one.
pub const FLAGS_PAGE: usize = 4_096;
/// Widest range read in one call: however far apart the seqs lie that are asked for, no more messages than this
/// are held besides theirs.
pub const SPAN_SEQS: u64 = 2_048;

/// Says what is at each of `seqs`, ascending. Reads the messages, then the head, then again the messages at or
/// below it that were missing, so that a message whose event is applied meanwhile is taken neither to be beyond
/// the head nor to be expired.
///
/// # Errors
/// As the store.
pub async fn places<S: ReceiptStore + ?Sized>(
    store: &S,
    id: &ConversationId,
    seqs: &SeqRanges,
    retention: Retention,
    now: TimeMs,
) -> Result<Vec<(Seq, Place)>, StoreError> {
    let mut messages: BTreeMap<Seq, Message> = BTreeMap::new();
    let mut flags: BTreeMap<Seq, MessageFlags> = BTreeMap::new();
    for (first, last) in spans(seqs) {
        messages.extend(asked_messages(store, id, seqs, (first, last)).await?);
        let found = all_flags(store, id, first, last).await?;
        flags.extend(found.into_iter().filter(|(seq, _)| seqs.contains(*seq)));
    }
    let missing = SeqRanges::from_seqs(seqs.iter().filter(|seq| !messages.contains_key(seq)));
    let (head, imported_head) = if missing.is_empty() {
        (Seq::LAST, Seq::ZERO)
    } else {
        store.conversation(id).await?.map(|c| (c.head, c.imported_head)).unwrap_or_default()
    };
    // A message is written before the head is raised: what is not found now either is late, or gone.
    let passed = SeqRanges::from_seqs(missing.iter().filter(|seq| *seq <= head));
    for (first, last) in spans(&passed) {
        messages.extend(asked_messages(store, id, &passed, (first, last)).await?);
    }
    let buckets = bucket_times(store, id, &passed).await?;
    let judged = seqs.iter().map(|seq| {
        let facts = PlaceFacts {
            message: messages.remove(&seq),
            flags: flags.get(&seq).copied().unwrap_or_default(),
            bucket_newest_sent_at: buckets.get(&seq.bucket()).copied(),
            head,
            imported_head,
        };
        (seq, place(seq, facts, retention, now))
    });
    Ok(judged.collect())
}

/// Of the messages of this range those that are asked for.
async fn asked_messages<S: MessageStore + ?Sized>(
    store: &S,
    id: &ConversationId,
    seqs: &SeqRanges,
    (first, last): (Seq, Seq),
) -> Result<Vec<(Seq, Message)>, StoreError> {
    let found = store.messages(id, first, last).await?;
    let asked = found.into_iter().filter(|message| seqs.contains(message.seq));
    Ok(asked.map(|message| (message.seq, message)).collect())
}

/// The ranges to read so that every one of `seqs` is in one: those in the same bucket or in neighbouring ones
/// are one range, since a bucket is read in one piece. Else an ack of every second message would cost a read
/// a message. None is wider than [`SPAN_SEQS`].
fn spans(seqs: &SeqRanges) -> Vec<(Seq, Seq)> {
    let mut spans: Vec<(Seq, Seq)> = Vec::new();
    for piece in seqs.split(SPAN_SEQS, usize::MAX).iter().flat_map(SeqRanges::ranges) {
        match spans.last_mut() {
            Some((first, last))
                if piece.first().bucket() <= last.bucket() + 1
                    && piece.last().get() - first.get() < SPAN_SEQS =>
            {
                *last = piece.last();
            }
            Some(_) | None => spans.push((piece.first(), piece.last())),
        }
    }
    spans
}

/// Newest sent_at of every bucket that holds one of `seqs`.
async fn bucket_times<S: MessageStore + ?Sized>(
    store: &S,
    id: &ConversationId,
    seqs: &SeqRanges,
) -> Result<BTreeMap<u64, TimeMs>, StoreError> {
    let mut times = BTreeMap::new();
    for (first, last) in spans(seqs) {
        let (first, last) = (first.bucket(), last.bucket());
        let limit = usize::try_from(last - first + 1).unwrap_or(usize::MAX);
        for bucket in store.buckets(id, first, last, limit).await? {
            times.insert(bucket.bucket, bucket.newest_sent_at);
        }
    }
    Ok(times)
}

/// Every flagged seq of `first ..= last`, read page by page.
///
/// # Errors
/// As the store.
pub async fn all_flags<S: MessageStore + ?Sized>(
    store: &S,
    id: &ConversationId,
    first: Seq,
    last: Seq,
) -> Result<Vec<(Seq, MessageFlags)>, StoreError> {
    let mut all = Vec::new();
    let mut from = Some(first);
    while let Some(first) = from {
        let (page, next) = flags_page(store, id, first, last).await?;
        all.extend(page);
        from = next;
    }
    Ok(all)
}

/// A page of flags, and where the next one begins.
///
/// # Errors
/// As the store.
pub async fn flags_page<S: MessageStore + ?Sized>(
    store: &S,
    id: &ConversationId,
    first: Seq,
    last: Seq,
) -> Result<(Vec<(Seq, MessageFlags)>, Option<Seq>), StoreError> {
    let page = store.flags(id, first, last, FLAGS_PAGE).await?;
    let greatest = page.last().map(|(seq, _)| *seq).filter(|seq| page.len() == FLAGS_PAGE && *seq < last);
    Ok((page, greatest.map(Seq::next)))
}

/// How many seqs of `(floor, head]` are uncounted.
///
/// # Errors
/// As the store.
pub async fn count_uncounted<S: MessageStore + ?Sized>(
    store: &S,
    id: &ConversationId,
    floor: Seq,
    head: Seq,
) -> Result<u64, StoreError> {
    if floor >= head {
        return Ok(0);
    }
    let mut count = 0;
    let mut from = Some(floor.next());
    while let Some(first) = from {
        let (page, next) = flags_page(store, id, first, head).await?;
        count += page.iter().filter(|(_, flags)| flags.is_uncounted()).count() as u64;
        from = next;
    }
    Ok(count)
}

/// Takes those that are uncounted out of `seqs`, which ascend.
///
/// # Errors
/// As the store.
pub async fn without_uncounted<S: MessageStore + ?Sized>(
    store: &S,
    id: &ConversationId,
    mut seqs: Vec<Seq>,
) -> Result<Vec<Seq>, StoreError> {
    let (Some(first), Some(last)) = (seqs.first().copied(), seqs.last().copied()) else { return Ok(seqs) };
    let mut from = Some(first);
    while let Some(first) = from {
        let (page, next) = flags_page(store, id, first, last).await?;
        seqs.retain(|seq| {
            let known = page.binary_search_by_key(seq, |(flagged, _)| *flagged).ok();
            !known.and_then(|at| page.get(at)).is_some_and(|(_, flags)| flags.is_uncounted())
        });
        from = next;
    }
    Ok(seqs)
}

/// The messages above `above` among the newest `limit` seqs up to `head`, ascending. A seq without a message
/// (skipped, expired, not there yet) takes its place all the same: what is told of is a matter of seqs.
///
/// # Errors
/// As the store.
pub async fn newest_messages<S: MessageStore + ?Sized>(
    store: &S,
    id: &ConversationId,
    above: Seq,
    head: Seq,
    limit: u64,
) -> Result<Vec<Message>, StoreError> {
    let lowest = above.next().max(head.back(limit.saturating_sub(1)));
    let mut newest = Vec::new();
    if head <= above || limit == 0 {
        return Ok(newest);
    }
    let (first, last) = (lowest.bucket(), head.bucket());
    let most = usize::try_from(last - first + 1).unwrap_or(usize::MAX);
    for bucket in store.buckets(id, first, last, most).await? {
        let (from, to) = Seq::bucket_bounds(bucket.bucket);
        newest.extend(store.messages(id, from.max(lowest), to.min(head)).await?);
    }
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use super::{SPAN_SEQS, spans};
    use readmark_domain::id::Seq;
    use readmark_domain::seq_ranges::{SeqRange, SeqRanges};

    #[test]
    fn no_span_is_wider_than_the_bound_and_none_leaves_a_seq_out() {
        let seq = |n| Seq::new(n).unwrap();
        for step in [1, 2, 100, 128, 200, 255, 256, 300, SPAN_SEQS] {
            let asked = SeqRanges::from_seqs((0..1_000).map(|n| seq(1 + n * step)));
            let spans = spans(&asked);
            for (first, last) in &spans {
                assert!(last.get() - first.get() < SPAN_SEQS, "step {step}: {first} to {last}");
            }
            let covered: Vec<SeqRange> = spans.iter().filter_map(|(f, l)| SeqRange::new(*f, *l)).collect();
            assert_eq!(covered.len(), spans.len(), "step {step}: all run upwards");
            let covered = SeqRanges::from_ranges(covered);
            assert!(asked.iter().all(|seq| covered.contains(seq)), "step {step}: {spans:?}");
        }
        let whole = SeqRanges::from_ranges(vec![SeqRange::new(seq(5), seq(4 + 3 * SPAN_SEQS)).unwrap()]);
        assert_eq!(spans(&whole).len(), 3);
    }
}
