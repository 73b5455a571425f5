//! What the cases have in common.

use super::subject::Subject;
use crate::inbox::{Wakeup, Wakeups};
use crate::port::{Begun, Held, HotState, TallyTold, UserChange};
use readmark_domain::counting::TallyVersion;
use readmark_domain::hot::{
    Applied, Cause, Change, Completed, CountRange, Counted, Entry, Epoch, Picture, SyncToken, Synced,
    TallyChange, Version,
};
use readmark_domain::id::{ConversationId, Endpoint, Seq, Uid};
use readmark_domain::register::{Latest, Presence, ReceiptsMode};
use readmark_domain::seq_ranges::{SeqRange, SeqRanges};
use readmark_domain::time::Order;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long anything may take; far beyond what is needed, so that only what never comes fails.
pub const DEADLINE: Duration = Duration::from_secs(30);

pub fn uid(n: u64) -> Uid {
    Uid::new(n).unwrap()
}

pub fn id(name: &str) -> ConversationId {
    ConversationId::new(name).unwrap()
}

pub fn seq(n: u64) -> Seq {
    Seq::new_or_zero(n).unwrap()
}

pub fn seqs(first: u64, last: u64) -> SeqRanges {
    SeqRanges::from_ranges(SeqRange::new(seq(first), seq(last)).into_iter().collect())
}

pub fn order(n: u64) -> Order {
    Order::new(n).unwrap()
}

pub fn latest(n: u64, value: bool) -> Latest {
    Latest { order: order(n), value }
}

/// What the store knows of a member: head and floor.
pub fn member(head: u64, floor: u64) -> Change {
    let presence = Some(Presence::new(order(1), true));
    Change { head: seq(head), floor: seq(floor), presence, ..Change::default() }
}

pub fn left(n: u64) -> Change {
    Change { presence: Some(Presence::new(order(n), false)), ..Change::default() }
}

pub fn head(n: u64) -> Change {
    Change { head: seq(n), ..Change::default() }
}

pub fn read(n: u64, device: &str) -> Change {
    let cause = Cause::Read(Endpoint::new(device).ok());
    Change { read: seq(n), floor: seq(n), cause, ..Change::default() }
}

pub fn marked(n: u64, value: bool) -> Change {
    Change { marked_unread: Some(latest(n, value)), ..Change::default() }
}

pub fn muted(n: u64, value: bool) -> Change {
    Change { muted: Some(latest(n, value)), ..Change::default() }
}

pub fn closed(n: u64, value: bool) -> Change {
    Change { closed: Some(latest(n, value)), ..Change::default() }
}

pub fn uncounted(first: u64, last: u64) -> Change {
    Change::default().with_uncounted(&seqs(first, last))
}

pub fn mentions(first: u64, last: u64) -> Change {
    Change::default().with_mentions(&seqs(first, last))
}

pub fn range(floor: u64, head: u64) -> CountRange {
    CountRange { floor: seq(floor), head: seq(head) }
}

pub fn counted(floor: u64, head: u64, [uncounted, mentions, uncounted_mentions]: [u64; 3]) -> Change {
    let counted = Counted { range: range(floor, head), uncounted, mentions, uncounted_mentions };
    Change::of_counted(counted, Cause::Other)
}

pub fn version(n: u64) -> Version {
    Version::new(n).unwrap()
}

pub fn tally_version(n: u128) -> TallyVersion {
    format!("{n:032x}").parse().unwrap()
}

pub fn tally(n: u64, version: u128, read: u32, total: u32) -> TallyChange {
    TallyChange {
        conversation_id: id("c"),
        seq: seq(n),
        mode: ReceiptsMode::Full,
        read,
        total,
        readers_added: Vec::new(),
        version: tally_version(version),
    }
}

pub fn told(uid: Uid, name: &str, change: Change) -> UserChange {
    UserChange { uid, conversation_id: id(name), change: Arc::new(change) }
}

/// One change of a user who has a state.
pub async fn apply(hot: &dyn HotState, uid: Uid, name: &str, change: Change) -> Applied {
    let mut answers = hot.apply(&[told(uid, name, change)]).await;
    assert_eq!(answers.len(), 1);
    answers.remove(0).expect("apply").expect("the user has a state")
}

pub async fn apply_tally(hot: &dyn HotState, uid: Uid, change: TallyChange) -> Applied {
    let mut answers = hot.apply_tallies(&[TallyTold { uid, change }]).await;
    assert_eq!(answers.len(), 1);
    answers.remove(0).expect("apply_tallies").expect("the user has a state")
}

pub async fn begin(hot: &dyn HotState, uid: Uid) -> Epoch {
    match hot.begin_rebuild(uid).await.expect("begin_rebuild") {
        Begun::Rebuild(epoch) => epoch,
        other => panic!("{uid}: {other:?}"),
    }
}

pub async fn complete(hot: &dyn HotState, uid: Uid, epoch: &Epoch) -> SyncToken {
    match hot.complete_rebuild(uid, epoch).await.expect("complete_rebuild") {
        Completed::Complete(token) => token,
        other => panic!("{uid}: {other:?}"),
    }
}

/// A user with these conversations, complete; the token of it.
pub async fn rebuilt(hot: &dyn HotState, uid: Uid, conversations: &[(&str, Change)]) -> SyncToken {
    let epoch = begin(hot, uid).await;
    for (name, change) in conversations {
        apply(hot, uid, name, change.clone()).await;
    }
    let token = complete(hot, uid, &epoch).await;
    assert_eq!(token.version, Version::ZERO);
    token
}

pub async fn picture(hot: &dyn HotState, uid: Uid) -> Picture {
    match hot.picture(uid, None).await.expect("picture") {
        Held::Complete(picture) => picture,
        other => panic!("{uid}: {other:?}"),
    }
}

/// Unread and mentions of each row, in the order of conversations.
pub async fn counts(hot: &dyn HotState, uid: Uid) -> Vec<(u64, u64)> {
    let rows = picture(hot, uid).await.rows;
    rows.iter().map(|row| (row.row.unread.get(), row.row.mentions.get())).collect()
}

/// Unread and mentions over all.
pub async fn totals(hot: &dyn HotState, uid: Uid) -> (u64, u64) {
    let picture = picture(hot, uid).await;
    (picture.total.get(), picture.total_mentions.get())
}

pub async fn synced(hot: &dyn HotState, uid: Uid, since: &SyncToken, limit: usize) -> Synced {
    match hot.entries(uid, since, limit).await.expect("entries") {
        Held::Complete(synced) => synced,
        other => panic!("{uid}: {other:?}"),
    }
}

/// All entries after a token.
pub async fn entries(hot: &dyn HotState, uid: Uid, since: &SyncToken) -> Vec<Entry> {
    match synced(hot, uid, since, 10_000).await {
        Synced::Entries { entries, more: false, .. } => entries,
        other => panic!("{uid} since {since}: {other:?}"),
    }
}

/// There is no state, however one asks.
pub async fn expect_missing(hot: &dyn HotState, uid: Uid, since: &SyncToken) {
    assert_eq!(hot.picture(uid, None).await.expect("picture"), Held::Missing);
    assert_eq!(hot.entries(uid, since, 10).await.expect("entries"), Held::Missing);
    assert_eq!(hot.touch(uid).await.expect("touch"), Held::Missing);
    assert_eq!(hot.apply(&[told(uid, "c", head(9))]).await.remove(0).expect("apply"), None);
    let told = TallyTold { uid, change: tally(1, 1, 1, 2) };
    assert_eq!(hot.apply_tallies(&[told]).await.remove(0).expect("apply_tallies"), None);
}

/// The next wake-up.
pub async fn woken(wakeups: &mut Wakeups) -> Wakeup {
    let next = tokio::time::timeout(DEADLINE, wakeups.next()).await;
    next.unwrap_or_else(|_| panic!("nothing woke within {DEADLINE:?}"))
}

/// Waits until `is_so`; fails at the deadline, with what was waited for.
pub async fn wait_until<F>(subject: &dyn Subject, what: &str, mut is_so: impl FnMut() -> F)
where
    F: Future<Output = bool>,
{
    let start = Instant::now();
    while !is_so().await {
        assert!(start.elapsed() < DEADLINE, "not within {DEADLINE:?}: {what}");
        subject.pass_ms(20).await;
    }
}
