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
        for message in store.messages(id, first, last).await? {
            messages.insert(message.seq, message);
        }
        flags.extend(all_flags(store, id, first, last).await?);
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
        for message in store.messages(id, first, last).await? {
            messages.insert(message.seq, message);
        }
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

/// The ranges to read so that every one of `seqs` is in one: those in the same bucket or in neighbouring ones
/// are one range, since a bucket is read in one piece. Else an ack of every second message would cost a read
/// a message.
fn spans(seqs: &SeqRanges) -> Vec<(Seq, Seq)> {
    let mut spans: Vec<(Seq, Seq)> = Vec::new();
    for range in seqs.ranges() {
        match spans.last_mut() {
            Some((_, last)) if range.first().bucket() <= last.bucket() + 1 => *last = range.last(),
            Some(_) | None => spans.push((range.first(), range.last())),
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
    let mut from = first;
    loop {
        let page = store.flags(id, from, last, FLAGS_PAGE).await?;
        let Some((greatest, _)) = page.last().copied().filter(|_| page.len() == FLAGS_PAGE) else {
            all.extend(page);
            return Ok(all);
        };
        all.extend(page);
        if greatest >= last {
            return Ok(all);
        }
        from = greatest.next();
    }
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
    let flags = all_flags(store, id, floor.next(), head).await?;
    Ok(flags.iter().filter(|(_, flags)| flags.is_uncounted()).count() as u64)
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
