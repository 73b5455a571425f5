use crate::count::count;
use crate::error::SyncError;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use readmark_domain::hot::{Applied, Change, CountRange, Counted, Version};
use readmark_hot::{HotState, UserChange};
use readmark_store::{ReceiptStore, StoreError};
use std::sync::Arc;

/// Rows counted at once for one call: a message to many members makes few of them count, and what one call asks of
/// the store stays small beside what it can do.
const COUNTS_AT_ONCE: usize = 16;

/// How often one row is counted in one call. Two rounds end it when nothing else happens; each further one is a
/// change that came in between. Who is told more often than that is told by the repetition.
const ROUNDS_MAX: u32 = 32;

/// What became of a change that a user's state has merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// The user's newest version afterwards.
    pub version: Version,
    /// Entries appended, none when nothing changed.
    pub appended: u32,
}

type Answer = Result<Option<Applied>, SyncError>;

/// Applies changes, and where numbers are asked for counts them in the store and applies those, until none are: only
/// then a change is told. Answers in the order asked, each by itself; `None` when that user has no state. A change
/// that failed may be repeated, alone.
///
/// The entry that brings the numbers has the cause of the change that made them needed.
pub async fn apply_until_counted<S: ReceiptStore + ?Sized>(
    hot: &dyn HotState,
    store: &S,
    changes: &[UserChange],
) -> Vec<Result<Option<Told>, SyncError>> {
    let mut told: Vec<Result<Option<Told>, SyncError>> = Vec::with_capacity(changes.len());
    let mut waiting: Vec<(usize, CountRange)> = Vec::new();
    for (at, answer) in hot.apply(changes).await.into_iter().enumerate() {
        told.push(Ok(None));
        note(&mut told, &mut waiting, at, answer.map_err(SyncError::from));
    }
    for _ in 1..=ROUNDS_MAX {
        if waiting.is_empty() {
            return told;
        }
        let asked = std::mem::take(&mut waiting);
        for (at, answer) in count_and_apply(hot, store, changes, asked).await {
            note(&mut told, &mut waiting, at, answer);
        }
    }
    for (at, _) in waiting {
        let UserChange { uid, conversation_id, .. } = &changes[at];
        let (uid, conversation_id) = (*uid, conversation_id.clone());
        told[at] = Err(SyncError::Unsettled { uid, conversation_id, rounds: ROUNDS_MAX });
    }
    told
}

/// Adds an answer to what is known of its change.
fn note(
    told: &mut [Result<Option<Told>, SyncError>],
    waiting: &mut Vec<(usize, CountRange)>,
    at: usize,
    answer: Answer,
) {
    let so_far = match &told[at] {
        Ok(Some(told)) => told.appended,
        Ok(None) | Err(_) => 0,
    };
    told[at] = answer.map(|applied| {
        applied.map(|applied| {
            waiting.extend(applied.to_count.map(|range| (at, range)));
            Told { version: applied.version, appended: so_far + u32::from(applied.appended) }
        })
    });
}

/// One round: counts each range, a few at once, and applies all the numbers in one call.
async fn count_and_apply<S: ReceiptStore + ?Sized>(
    hot: &dyn HotState,
    store: &S,
    changes: &[UserChange],
    asked: Vec<(usize, CountRange)>,
) -> Vec<(usize, Answer)> {
    let counts: Vec<BoxFuture<'_, (usize, Result<Counted, StoreError>)>> = asked
        .into_iter()
        .map(|(at, range)| {
            let UserChange { uid, conversation_id, .. } = &changes[at];
            async move { (at, count(store, *uid, conversation_id, range).await) }.boxed()
        })
        .collect();
    let counted: Vec<_> = futures::stream::iter(counts).buffered(COUNTS_AT_ONCE).collect().await;
    let (mut answers, mut numbers) = (Vec::new(), Vec::new());
    let mut of = Vec::new();
    for (at, counted) in counted {
        match counted {
            Ok(counted) => {
                let told = &changes[at];
                let change = Arc::new(Change::of_counted(counted, told.change.cause.clone()));
                numbers.push(UserChange { change, ..told.clone() });
                of.push(at);
            }
            Err(error) => answers.push((at, Err(error.into()))),
        }
    }
    let applied = hot.apply(&numbers).await.into_iter().map(|answer| answer.map_err(SyncError::from));
    answers.extend(of.into_iter().zip(applied));
    answers
}
