//! What a user has unread, computed from the store. The one place for it.

use futures::FutureExt;
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::register::Latest;
use readmark_domain::unread::unread as count_unread;
use readmark_runtime::at_once;
use readmark_store::lookup::{count_uncounted, without_uncounted};
use readmark_store::{Conversation, ReceiptStore, StoreError, UserConversation};
use std::collections::BTreeMap;

/// Reads of one request at once.
pub const READS_AT_ONCE: usize = 16;

/// Conversations or mentions read in one call.
const PAGE: usize = 1_000;

/// One conversation of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationUnread {
    /// Which.
    pub conversation_id: ConversationId,
    /// Countable messages above the floor.
    pub unread: u64,
    /// Those of them that mention the user.
    pub mentions: u64,
    /// The newest seq.
    pub head: Seq,
    /// The watermark.
    pub read: Seq,
    /// The seq up to which nothing is unread.
    pub floor: Seq,
    /// Marked by hand.
    pub marked_unread: bool,
    /// Left out of the totals.
    pub muted: bool,
}

/// A user's whole picture.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unread {
    /// The sum of `unread` of what is not muted.
    pub total: u64,
    /// The sum of `mentions` of what is not muted.
    pub mentions: u64,
    /// Every open conversation with the user present, ascending by id.
    pub conversations: Vec<ConversationUnread>,
}

/// Reads a user's picture.
///
/// The heads are read before the user's registers: a message of the user's own that raised a head has raised
/// the user's floor already, so it never shows as unread.
///
/// # Errors
/// As the store; there is no picture in part (RR-10).
pub async fn unread<S: ReceiptStore + ?Sized>(store: &S, uid: Uid) -> Result<Unread, StoreError> {
    let ids: Vec<ConversationId> = registers(store, uid).await?.into_keys().collect();
    let heads = ids.iter().map(|id| {
        async move { Ok::<_, StoreError>((id, store.conversation(id).await?.unwrap_or_default())) }.boxed()
    });
    let heads = at_once::all(READS_AT_ONCE, heads.collect()).await?;
    let mut registers = registers(store, uid).await?;
    let counted = heads.into_iter().filter_map(|(id, conversation)| {
        let registers = registers.remove(id).filter(UserConversation::is_present)?;
        (!conversation.is_closed()).then(|| one(store, uid, id, conversation, registers).boxed())
    });
    let conversations = at_once::all(READS_AT_ONCE, counted.collect()).await?;
    let loud = || conversations.iter().filter(|one| !one.muted);
    let (total, mentions) = (loud().map(|one| one.unread).sum(), loud().map(|one| one.mentions).sum());
    Ok(Unread { total, mentions, conversations })
}

async fn registers<S: ReceiptStore + ?Sized>(
    store: &S,
    uid: Uid,
) -> Result<BTreeMap<ConversationId, UserConversation>, StoreError> {
    let mut all = BTreeMap::new();
    let mut after: Option<ConversationId> = None;
    loop {
        let page = store.user_conversations(uid, after.as_ref(), PAGE).await?;
        let full = page.len() >= PAGE;
        after = page.last().map(|entry| entry.conversation_id.clone());
        all.extend(page.into_iter().map(|entry| (entry.conversation_id, entry.registers)));
        if !full {
            return Ok(all);
        }
    }
}

async fn one<S: ReceiptStore + ?Sized>(
    store: &S,
    uid: Uid,
    id: &ConversationId,
    conversation: Conversation,
    registers: UserConversation,
) -> Result<ConversationUnread, StoreError> {
    let (head, floor) = (conversation.head, registers.floor());
    let (mut unread, mut mentions) = (0, 0);
    if floor < head {
        unread = count_unread(head, floor, count_uncounted(store, id, floor, head).await?);
        mentions = count_mentions(store, uid, id, floor.next(), head).await?;
    }
    Ok(ConversationUnread {
        conversation_id: id.clone(),
        unread,
        mentions,
        head,
        read: registers.read.seq,
        floor,
        marked_unread: Latest::value_of(registers.marked_unread),
        muted: Latest::value_of(registers.muted),
    })
}

/// Mentions are counted the way messages are: without the uncounted.
async fn count_mentions<S: ReceiptStore + ?Sized>(
    store: &S,
    uid: Uid,
    id: &ConversationId,
    first: Seq,
    last: Seq,
) -> Result<u64, StoreError> {
    let (mut count, mut from) = (0, first);
    loop {
        let page = store.mentions(uid, id, from, last, PAGE).await?;
        let next = page.last().filter(|greatest| page.len() >= PAGE && **greatest < last).map(|g| g.next());
        count += without_uncounted(store, id, page).await?.len() as u64;
        match next {
            Some(next) => from = next,
            None => return Ok(count),
        }
    }
}
