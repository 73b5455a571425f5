use readmark_domain::hot::{CountRange, Counted};
use readmark_domain::id::{ConversationId, Uid};
use readmark_store::lookup::{count_uncounted, without_uncounted};
use readmark_store::{ReceiptStore, StoreError};

/// Mentions read in one call.
const PAGE: usize = 1_000;

/// Counts a range of a conversation for one user, page by page. The one place for it: unread is
/// `head − floor − uncounted`, mentions are counted the same way, without those that are uncounted.
///
/// # Errors
/// As the store.
pub async fn count<S: ReceiptStore + ?Sized>(
    store: &S,
    uid: Uid,
    id: &ConversationId,
    range: CountRange,
) -> Result<Counted, StoreError> {
    let CountRange { floor, head } = range;
    let mut counted = Counted { range, uncounted: 0, mentions: 0, uncounted_mentions: 0 };
    if floor >= head {
        return Ok(counted);
    }
    counted.uncounted = count_uncounted(store, id, floor, head).await?;
    let mut from = floor.next();
    loop {
        let page = store.mentions(uid, id, from, head, PAGE).await?;
        let next = page.last().filter(|last| page.len() >= PAGE && **last < head).map(|last| last.next());
        let mentions = page.len() as u64;
        let counting = without_uncounted(store, id, page).await?.len() as u64;
        counted.mentions += mentions;
        counted.uncounted_mentions += mentions - counting;
        match next {
            Some(next) => from = next,
            None => return Ok(counted),
        }
    }
}
