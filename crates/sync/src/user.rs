//! Everything that the store knows of one user, conversation by conversation.

use futures::FutureExt;
use readmark_domain::id::{ConversationId, Uid};
use readmark_runtime::at_once;
use readmark_store::{Conversation, ReceiptStore, StoreError, UserConversation};
use std::collections::BTreeMap;

/// Reads of one user at once: an answer about many conversations is quick, and no user takes all that the store can
/// do.
pub(crate) const READS_AT_ONCE: usize = 16;

/// Conversations of a user read in one call.
const PAGE: usize = 1_000;

/// What is known of a user in one conversation.
#[derive(Debug, Clone)]
pub(crate) struct UserIn {
    pub conversation_id: ConversationId,
    pub conversation: Conversation,
    pub registers: UserConversation,
}

/// Reads all of them, ascending by id, also those that the user has left and that are closed.
///
/// The heads are read before the registers: a message of the user's own that raised a head has raised the user's
/// floor already, so it never shows as unread.
pub(crate) async fn read_user<S: ReceiptStore + ?Sized>(
    store: &S,
    uid: Uid,
) -> Result<Vec<UserIn>, StoreError> {
    let ids: Vec<ConversationId> = registers(store, uid).await?.into_keys().collect();
    let heads = ids.into_iter().map(|id| {
        async move {
            let conversation = store.conversation(&id).await?.unwrap_or_default();
            Ok::<_, StoreError>((id, conversation))
        }
        .boxed()
    });
    let heads = at_once::all(READS_AT_ONCE, heads.collect()).await?;
    let mut registers = registers(store, uid).await?;
    let known = heads.into_iter().filter_map(|(conversation_id, conversation)| {
        let registers = registers.remove(&conversation_id)?;
        Some(UserIn { conversation_id, conversation, registers })
    });
    Ok(known.collect())
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
