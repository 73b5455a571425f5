//! All that the store knows of one user in one conversation, as one change.

use crate::count::count;
use readmark_domain::hot::{Change, CountRange, SEQS_MAX};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::seq_ranges::SeqRanges;
use readmark_store::lookup::flags_page;
use readmark_store::{Conversation, ReceiptStore, StoreError, UserConversation};

/// One more than can be kept: so it shows that there are too many.
const SAID_MAX: usize = SEQS_MAX + 1;

/// Reads a *whole* change: what a rebuild tells, and what a user who joins must be told.
///
/// The head is read before the user's registers: a message of the user's own that raised the head has raised the
/// user's floor already, so it never shows as unread.
///
/// # Errors
/// As the store.
pub async fn whole_change<S: ReceiptStore + ?Sized>(
    store: &S,
    uid: Uid,
    id: &ConversationId,
) -> Result<Change, StoreError> {
    let conversation = store.conversation(id).await?.unwrap_or_default();
    let registers = store.user_conversation(uid, id).await?.unwrap_or_default();
    whole_of(store, uid, id, &conversation, &registers).await
}

/// As [`whole_change`], of rows that were read in this order: the conversation, then the user's registers.
///
/// # Errors
/// As the store.
pub async fn whole_of<S: ReceiptStore + ?Sized>(
    store: &S,
    uid: Uid,
    id: &ConversationId,
    conversation: &Conversation,
    registers: &UserConversation,
) -> Result<Change, StoreError> {
    let (head, floor) = (conversation.head, registers.floor());
    let mut change = Change {
        head,
        is_large: conversation.large,
        closed: conversation.closed,
        read: registers.read.seq,
        floor,
        presence: registers.presence,
        marked_unread: registers.marked_unread,
        muted: registers.muted,
        ..Change::default()
    };
    if !registers.is_present() {
        // Nothing is seen of it; who joins again is told all of it again.
        return Ok(change);
    }
    let newest = store.newest_buckets(id, 1).await?;
    change.newest_sent_at = newest.first().map(|bucket| bucket.newest_sent_at).unwrap_or_default();
    let uncounted = uncounted_above(store, id, floor).await?;
    let mentions = match floor < head {
        true => store.mentions(uid, id, floor.next(), head, SAID_MAX).await?,
        // Of messages beyond the head a fact is still to be told.
        false => Vec::new(),
    };
    if uncounted.len() <= SEQS_MAX && mentions.len() <= SEQS_MAX {
        let change = change.with_uncounted(&SeqRanges::from_seqs(uncounted));
        return Ok(change.with_mentions(&SeqRanges::from_seqs(mentions)));
    }
    let beyond = greatest_uncounted_above(store, id, head.max(floor)).await?;
    let change = change.with_uncounted(&SeqRanges::from_seqs(beyond));
    if floor >= head {
        return Ok(change);
    }
    let counted = count(store, uid, id, CountRange { floor, head }).await?;
    Ok(change.with_counted_only(counted))
}

/// The lowest uncounted seqs above `floor`, also those beyond the head: a recall may come before its message and
/// is told only once. All of them, when there are not too many.
async fn uncounted_above<S: ReceiptStore + ?Sized>(
    store: &S,
    id: &ConversationId,
    floor: Seq,
) -> Result<Vec<Seq>, StoreError> {
    let flagged = store.flags(id, floor.next(), Seq::LAST, SAID_MAX).await?;
    // Every flag there is makes uncounted.
    Ok(flagged.into_iter().filter(|(_, flags)| flags.is_uncounted()).map(|(seq, _)| seq).collect())
}

/// The greatest uncounted seqs above `above`, ascending: with too many of them they stand for the others.
async fn greatest_uncounted_above<S: ReceiptStore + ?Sized>(
    store: &S,
    id: &ConversationId,
    above: Seq,
) -> Result<Vec<Seq>, StoreError> {
    let mut greatest: Vec<Seq> = Vec::new();
    let mut from = Some(above.next());
    while let Some(first) = from {
        let (page, next) = flags_page(store, id, first, Seq::LAST).await?;
        greatest.extend(page.iter().filter(|(_, flags)| flags.is_uncounted()).map(|(seq, _)| *seq));
        greatest.drain(..greatest.len().saturating_sub(SAID_MAX));
        from = next;
    }
    Ok(greatest)
}
