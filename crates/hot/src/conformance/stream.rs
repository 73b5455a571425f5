use super::hands::{apply, entries, head, member, rebuilt, synced, uid, version};
use super::subject::Subject;
use crate::port::HotState;
use readmark_domain::hot::{Entry, Epoch, STREAM_ENTRIES, SyncToken, Synced};
use readmark_domain::invariant::{Served, SyncWithoutGaps};

super::cases!(
    entries_follow_the_token_in_pages,
    with_nothing_new_the_token_stays,
    tokens_of_elsewhere_are_too_old,
    about_a_thousand_entries_are_kept,
);

/// More than the newest thousand may be kept, but not many more.
const KEPT_AT_MOST: usize = STREAM_ENTRIES + 200;

async fn with_entries(hot: &dyn HotState, count: u64) -> SyncToken {
    let token = rebuilt(hot, uid(1), &[("c", member(0, 0))]).await;
    for n in 1..=count {
        assert_eq!(apply(hot, uid(1), "c", head(n)).await.version, version(n));
    }
    token
}

fn versions(entries: &[Entry]) -> Vec<u64> {
    entries.iter().map(|entry| entry.version.get()).collect()
}

async fn entries_follow_the_token_in_pages(s: Box<dyn Subject>) {
    let hot = s.hot();
    let mut token = with_entries(&*hot, 25).await;
    let mut all = Vec::new();
    for page in [vec![10; 10], vec![10; 10], vec![5; 5]] {
        let since = token.version.get();
        let Synced::Entries { entries, token: next, more } = synced(&*hot, uid(1), &token, 10).await else {
            panic!("too old: {token}")
        };
        let served = Served::Entries(&versions(&entries));
        SyncWithoutGaps { same_epoch: true, since, oldest_kept: 1, served }.check().unwrap();
        assert_eq!((entries.len(), more), (page.len(), page.len() == 10));
        all.extend(versions(&entries));
        token = next;
    }
    assert_eq!(all, (1..=25).collect::<Vec<_>>());
    let Synced::Entries { entries, .. } = synced(&*hot, uid(1), &with_version(&token, 24), 0).await else {
        panic!("too old")
    };
    assert_eq!(versions(&entries), [25], "one at least");
}

fn with_version(token: &SyncToken, n: u64) -> SyncToken {
    SyncToken { epoch: token.epoch.clone(), version: version(n) }
}

async fn with_nothing_new_the_token_stays(s: Box<dyn Subject>) {
    let hot = s.hot();
    for count in [0, 3] {
        hot.forget(uid(1)).await.expect("forget");
        let token = with_entries(&*hot, count).await;
        let newest = with_version(&token, count);
        let wanted = Synced::Entries { entries: Vec::new(), token: newest.clone(), more: false };
        assert_eq!(synced(&*hot, uid(1), &newest, 10).await, wanted);
    }
}

async fn tokens_of_elsewhere_are_too_old(s: Box<dyn Subject>) {
    let hot = s.hot();
    let token = with_entries(&*hot, 3).await;
    let other = |epoch: &str| SyncToken { epoch: Epoch::new(epoch).unwrap(), version: version(1) };
    for token in [
        with_version(&token, 4),
        with_version(&token, readmark_domain::hot::Version::MAX),
        other("store"),
        other("0"),
    ] {
        assert_eq!(synced(&*hot, uid(1), &token, 10).await, Synced::TooOld, "{token}");
    }
}

/// RR-9.
async fn about_a_thousand_entries_are_kept(s: Box<dyn Subject>) {
    let hot = s.hot();
    let token = with_entries(&*hot, 0).await;
    let changes: Vec<_> = (1..=2_500).map(|n| super::hands::told(uid(1), "c", head(n))).collect();
    for answer in hot.apply(&changes).await {
        answer.expect("apply").expect("a state");
    }
    let newest = 2_500;
    let kept = entries(&*hot, uid(1), &with_version(&token, newest - STREAM_ENTRIES as u64)).await;
    assert_eq!(kept.len(), STREAM_ENTRIES);
    for far in [KEPT_AT_MOST as u64, newest] {
        let token = with_version(&token, newest - far);
        assert_eq!(synced(&*hot, uid(1), &token, 10).await, Synced::TooOld, "{far} behind");
    }
}
