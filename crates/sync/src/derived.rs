//! What a user has unread, computed from the store alone: the truth that the hot state is compared with, and the
//! answer while it is away.

use crate::count::count;
use crate::user::{READS_AT_ONCE, UserIn, read_user};
use futures::FutureExt;
use readmark_domain::hot::{
    CountRange, Epoch, EpochError, MessageCount, Picture, PictureRow, Row, SyncToken, Version,
};
use readmark_domain::id::Uid;
use readmark_domain::register::Latest;
use readmark_domain::time::TimeMs;
use readmark_domain::unread::unread;
use readmark_runtime::at_once;
use readmark_store::{ReceiptStore, StoreError};

/// The epoch of pictures computed from the store: no stream has it, so following their token begins with a snapshot,
/// which misses nothing.
const EPOCH: &str = "store";

/// Reads a user's whole picture, times of the newest messages included.
///
/// # Errors
/// As the store; there is no picture in part (RR-10).
pub async fn derived_picture<S: ReceiptStore + ?Sized>(store: &S, uid: Uid) -> Result<Picture, StoreError> {
    let mut picture = derived_numbers(store, uid).await?;
    let timed = picture.rows.into_iter().map(|row| {
        async move {
            let newest = store.newest_buckets(&row.conversation_id, 1).await?;
            let newest_sent_at = newest.first().map(|bucket| bucket.newest_sent_at).unwrap_or_default();
            Ok::<_, StoreError>(PictureRow { newest_sent_at, ..row })
        }
        .boxed()
    });
    picture.rows = at_once::all(READS_AT_ONCE, timed.collect()).await?;
    Ok(picture)
}

/// As [`derived_picture`], but `newest_sent_at` is left out: zero.
///
/// # Errors
/// As the store.
pub async fn derived_numbers<S: ReceiptStore + ?Sized>(store: &S, uid: Uid) -> Result<Picture, StoreError> {
    let seen = |one: &UserIn| one.registers.is_present() && !one.conversation.is_closed();
    let rows = read_user(store, uid).await?.into_iter().filter(seen).map(|one| row(store, uid, one).boxed());
    let rows = at_once::all(READS_AT_ONCE, rows.collect()).await?;
    let sum = |part: fn(&Row) -> MessageCount| {
        rows.iter().map(|row| part(&row.row).get()).fold(0, u64::saturating_add)
    };
    let (total, total_mentions) = (sum(|row| row.in_totals().0), sum(|row| row.in_totals().1));
    Ok(Picture {
        token: derived_token(),
        total: MessageCount::saturating(total),
        total_mentions: MessageCount::saturating(total_mentions),
        rows,
    })
}

/// The token of pictures computed from the store.
#[must_use]
pub fn derived_token() -> SyncToken {
    let epoch = Epoch::new(EPOCH).unwrap_or_else(|EpochError| Epoch::of_random(0));
    SyncToken { epoch, version: Version::ZERO }
}

async fn row<S: ReceiptStore + ?Sized>(store: &S, uid: Uid, one: UserIn) -> Result<PictureRow, StoreError> {
    let UserIn { conversation_id, conversation, registers } = one;
    let range = CountRange { floor: registers.floor(), head: conversation.head };
    let counted = count(store, uid, &conversation_id, range).await?;
    let row = Row {
        head: range.head,
        read: registers.read.seq,
        floor: range.floor,
        unread: MessageCount::saturating(unread(range.head, range.floor, counted.uncounted)),
        mentions: MessageCount::saturating(counted.mentions.saturating_sub(counted.uncounted_mentions)),
        marked_unread: Latest::value_of(registers.marked_unread),
        muted: Latest::value_of(registers.muted),
    };
    let (newest_sent_at, is_large) = (TimeMs::ZERO, conversation.large);
    Ok(PictureRow { conversation_id, row, newest_sent_at, is_large, to_count: None })
}
