//! What a rebuild does between its beginning and its end.

use crate::apply::{Told, apply_until_counted};
use crate::count::count;
use crate::error::SyncError;
use crate::user::{READS_AT_ONCE, UserIn, read_user};
use crate::whole::whole_of;
use futures::FutureExt;
use readmark_domain::hot::{Cause, Change, Completed, CountRange, Epoch};
use readmark_domain::id::{ConversationId, Uid};
use readmark_hot::{HotState, UserChange};
use readmark_runtime::at_once;
use readmark_store::{ReceiptStore, StoreError};
use std::sync::Arc;

/// Changes applied in one call: fair to others that use the hot state meanwhile.
const CHANGES_AT_ONCE: usize = 256;

/// How often the end is asked for before the numbers it misses are given up: facts that come in meanwhile can make
/// some more missing.
const ENDINGS_MAX: u32 = 8;

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filled {
    /// The state is whole.
    Whole,
    /// It is gone, or another rebuild took its place: begin again.
    Lost,
}

/// Tells the state that was begun under this epoch all that the store knows of the user, and ends the rebuild.
///
/// # Errors
/// As store and hot state; [`SyncError::NotRebuilt`] when facts come in faster than their numbers are counted.
pub async fn fill<S: ReceiptStore + ?Sized>(
    hot: &dyn HotState,
    store: &S,
    uid: Uid,
    epoch: &Epoch,
) -> Result<Filled, SyncError> {
    if !tell_all(hot, store, uid).await? {
        return Ok(Filled::Lost);
    }
    for _ in 0..ENDINGS_MAX {
        match hot.complete_rebuild(uid, epoch).await? {
            Completed::Complete(_) => return Ok(Filled::Whole),
            Completed::Lost => return Ok(Filled::Lost),
            Completed::ToCount(missing) => {
                if !count_missing(hot, store, uid, missing).await? {
                    return Ok(Filled::Lost);
                }
            }
        }
    }
    Err(SyncError::NotRebuilt { uid, why: "its numbers changed faster than they could be counted" })
}

/// Tells a user's state all that the store knows of it; says whether there is one.
pub(crate) async fn tell_all<S: ReceiptStore + ?Sized>(
    hot: &dyn HotState,
    store: &S,
    uid: Uid,
) -> Result<bool, SyncError> {
    for some in read_user(store, uid).await?.chunks(CHANGES_AT_ONCE) {
        let wholes = some.iter().map(|one| whole_of_one(store, uid, one).boxed());
        let changes = at_once::all(READS_AT_ONCE, wholes.collect()).await?;
        if !all_merged(apply_until_counted(hot, store, &changes).await)? {
            return Ok(false);
        }
    }
    Ok(true)
}

async fn whole_of_one<S: ReceiptStore + ?Sized>(
    store: &S,
    uid: Uid,
    one: &UserIn,
) -> Result<UserChange, StoreError> {
    let conversation_id = one.conversation_id.clone();
    let change = whole_of(store, uid, &conversation_id, &one.conversation, &one.registers).await?;
    Ok(UserChange { uid, conversation_id, change: Arc::new(change) })
}

/// Counts rows whose numbers are missing and tells them; says whether the user still has a state. A row that changes
/// faster than it can be counted stays late.
///
/// # Errors
/// As store and hot state.
pub async fn count_missing<S: ReceiptStore + ?Sized>(
    hot: &dyn HotState,
    store: &S,
    uid: Uid,
    missing: Vec<(ConversationId, CountRange)>,
) -> Result<bool, SyncError> {
    let counts = missing.into_iter().map(|(conversation_id, range)| {
        async move {
            let counted = count(store, uid, &conversation_id, range).await?;
            let change = Arc::new(Change::of_counted(counted, Cause::Other));
            Ok::<_, StoreError>(UserChange { uid, conversation_id, change })
        }
        .boxed()
    });
    let changes = at_once::all(READS_AT_ONCE, counts.collect()).await?;
    all_merged(apply_until_counted(hot, store, &changes).await)
}

/// Were all merged? Rows whose numbers did not settle are late, which the end of a rebuild says again.
fn all_merged(told: Vec<Result<Option<Told>, SyncError>>) -> Result<bool, SyncError> {
    let mut all = true;
    for told in told {
        match told {
            Ok(told) => all &= told.is_some(),
            Err(SyncError::Unsettled { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}
