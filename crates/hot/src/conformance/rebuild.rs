use super::hands::{
    apply, begin, complete, counts, entries, expect_missing, head, member, picture, read, rebuilt, tally,
    told, uid, wait_until,
};
use super::subject::Subject;
use crate::port::{Begun, Held, TallyTold};
use crate::{KEPT_MS, REBUILD_LEASE_MS};
use readmark_domain::hot::{Completed, Epoch, SyncToken, Synced, Version};
use std::sync::Arc;

super::cases!(
    nobody_has_a_state_at_first,
    a_state_being_rebuilt_merges_and_is_not_read,
    facts_merge_meanwhile_in_any_order,
    one_rebuild_at_a_time,
    a_rebuild_that_died_is_replaced,
    each_life_has_an_epoch_of_its_own,
    what_is_forgotten_is_missing,
    all_are_forgotten,
    a_state_lives_on_when_touched,
    users_are_counted,
);

async fn nobody_has_a_state_at_first(s: Box<dyn Subject>) {
    let hot = s.hot();
    let token = SyncToken { epoch: Epoch::of_random(1), version: Version::ZERO };
    expect_missing(&*hot, uid(1), &token).await;
    let ended = hot.complete_rebuild(uid(1), &Epoch::of_random(1)).await.expect("complete_rebuild");
    assert_eq!(ended, Completed::Lost);
    hot.forget(uid(1)).await.expect("forget");
    hot.probe().await.expect("probe");
}

async fn a_state_being_rebuilt_merges_and_is_not_read(s: Box<dyn Subject>) {
    let hot = s.hot();
    let epoch = begin(&*hot, uid(1)).await;
    let token = SyncToken { epoch: epoch.clone(), version: Version::ZERO };
    let applied = apply(&*hot, uid(1), "c", member(9, 4)).await;
    assert_eq!((applied.version, applied.appended), (Version::ZERO, 0));
    let tally_told = TallyTold { uid: uid(1), change: tally(1, 1, 1, 2) };
    let applied = hot.apply_tallies(&[tally_told]).await.remove(0).expect("apply").expect("a state");
    assert_eq!((applied.version, applied.appended), (Version::ZERO, 0));
    assert_eq!(hot.picture(uid(1), None).await.expect("picture"), Held::Incomplete);
    assert_eq!(hot.entries(uid(1), &token, 10).await.expect("entries"), Held::Incomplete);
    assert_eq!(hot.touch(uid(1)).await.expect("touch"), Held::Incomplete);
    assert_eq!(complete(&*hot, uid(1), &epoch).await, token);
    assert_eq!(complete(&*hot, uid(1), &epoch).await, token, "said again");
    assert_eq!(counts(&*hot, uid(1)).await, [(5, 0)]);
    assert!(entries(&*hot, uid(1), &token).await.is_empty());
    assert_eq!(hot.touch(uid(1)).await.expect("touch"), Held::Complete(()));
}

/// R11: the fact before the whole, and the whole before the fact.
async fn facts_merge_meanwhile_in_any_order(s: Box<dyn Subject>) {
    let hot = s.hot();
    let (whole, facts) = (member(20, 3), [head(21), read(19, "a")]);
    for (n, fact_first) in [(1, true), (2, false)] {
        let epoch = begin(&*hot, uid(n)).await;
        let mut changes: Vec<_> = facts.to_vec();
        changes.insert(if fact_first { 2 } else { 0 }, whole.clone());
        for change in changes {
            apply(&*hot, uid(n), "c", change).await;
        }
        complete(&*hot, uid(n), &epoch).await;
        assert_eq!(counts(&*hot, uid(n)).await, [(2, 0)]);
    }
}

async fn one_rebuild_at_a_time(s: Box<dyn Subject>) {
    let hot = s.hot();
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let hot = Arc::clone(&hot);
        running.spawn(async move { hot.begin_rebuild(uid(1)).await.expect("begin_rebuild") });
    }
    let begun = running.join_all().await;
    let epochs: Vec<&Epoch> = begun
        .iter()
        .filter_map(|one| if let Begun::Rebuild(epoch) = one { Some(epoch) } else { None })
        .collect();
    assert_eq!(epochs.len(), 1, "{begun:?}");
    assert_eq!(begun.iter().filter(|one| **one == Begun::Running).count(), 15);
    complete(&*hot, uid(1), epochs[0]).await;
    assert_eq!(hot.begin_rebuild(uid(1)).await.expect("begin_rebuild"), Begun::Complete);
}

/// Its place may be taken after a while; what it does then changes nothing.
async fn a_rebuild_that_died_is_replaced(mut s: Box<dyn Subject>) {
    s.shorten_lease().await;
    let hot = s.hot();
    let first = begin(&*hot, uid(1)).await;
    apply(&*hot, uid(1), "old", member(9, 0)).await;
    assert_eq!(hot.begin_rebuild(uid(1)).await.expect("begin_rebuild"), Begun::Running);
    s.pass_ms(REBUILD_LEASE_MS).await;
    let found = std::sync::Mutex::new(None);
    wait_until(&*s, "the rebuild's place may be taken", || async {
        let begun = hot.begin_rebuild(uid(1)).await.expect("begin_rebuild");
        *found.lock().unwrap() = Some(begun.clone());
        begun != Begun::Running
    })
    .await;
    let Some(Begun::Rebuild(second)) = found.into_inner().unwrap() else { panic!("no rebuild") };
    assert_ne!(first, second);
    assert_eq!(hot.complete_rebuild(uid(1), &first).await.expect("complete_rebuild"), Completed::Lost);
    assert_eq!(hot.picture(uid(1), None).await.expect("picture"), Held::Incomplete);
    apply(&*hot, uid(1), "c", member(2, 0)).await;
    complete(&*hot, uid(1), &second).await;
    assert_eq!(counts(&*hot, uid(1)).await, [(2, 0)], "nothing is left of the first");
    assert_eq!(hot.complete_rebuild(uid(1), &first).await.expect("complete_rebuild"), Completed::Lost);
}

/// R10: a version is never given twice with other content.
async fn each_life_has_an_epoch_of_its_own(s: Box<dyn Subject>) {
    let hot = s.hot();
    let mut tokens: Vec<SyncToken> = Vec::new();
    for _ in 0..5 {
        let token = rebuilt(&*hot, uid(1), &[("c", member(3, 0))]).await;
        assert!(tokens.iter().all(|old| old.epoch != token.epoch));
        for old in &tokens {
            let synced = hot.entries(uid(1), old, 10).await.expect("entries");
            assert_eq!(synced, Held::Complete(Synced::TooOld));
        }
        apply(&*hot, uid(1), "c", head(4)).await;
        assert_eq!(entries(&*hot, uid(1), &token).await.len(), 1);
        tokens.push(token);
        hot.forget(uid(1)).await.expect("forget");
    }
}

async fn what_is_forgotten_is_missing(s: Box<dyn Subject>) {
    let hot = s.hot();
    let token = rebuilt(&*hot, uid(1), &[("c", member(3, 0))]).await;
    rebuilt(&*hot, uid(2), &[("c", member(3, 0))]).await;
    apply(&*hot, uid(1), "c", head(4)).await;
    super::hands::apply_tally(&*hot, uid(1), tally(1, 1, 1, 2)).await;
    hot.forget(uid(1)).await.expect("forget");
    expect_missing(&*hot, uid(1), &token).await;
    assert_eq!(counts(&*hot, uid(2)).await, [(3, 0)]);
    // Also in the middle of a rebuild.
    let epoch = begin(&*hot, uid(1)).await;
    hot.forget(uid(1)).await.expect("forget");
    assert_eq!(hot.complete_rebuild(uid(1), &epoch).await.expect("complete_rebuild"), Completed::Lost);
    // Nothing is left: the same tally is news again.
    rebuilt(&*hot, uid(1), &[]).await;
    assert_eq!(super::hands::apply_tally(&*hot, uid(1), tally(1, 1, 1, 2)).await.appended, 1);
}

async fn all_are_forgotten(s: Box<dyn Subject>) {
    let hot = s.hot();
    let mut tokens = Vec::new();
    for n in 0..300 {
        tokens.push(rebuilt(&*hot, uid(n), &[("c", member(3, 0))]).await);
    }
    let half = begin(&*hot, uid(1_000)).await;
    hot.forget_all().await.expect("forget_all");
    for (n, token) in (0..).zip(&tokens) {
        expect_missing(&*hot, uid(n), token).await;
    }
    assert_eq!(hot.complete_rebuild(uid(1_000), &half).await.expect("complete_rebuild"), Completed::Lost);
    rebuilt(&*hot, uid(1), &[("c", member(3, 0))]).await;
}

async fn a_state_lives_on_when_touched(s: Box<dyn Subject>) {
    let hot = s.hot();
    let token = rebuilt(&*hot, uid(1), &[("c", member(3, 0))]).await;
    for n in 4..9 {
        s.pass_ms(KEPT_MS / 3).await;
        apply(&*hot, uid(1), "c", head(n)).await;
        assert_eq!(hot.touch(uid(1)).await.expect("touch"), Held::Complete(()));
    }
    assert_eq!(entries(&*hot, uid(1), &token).await.len(), 5);
    assert_eq!(picture(&*hot, uid(1)).await.rows.len(), 1);
}

async fn users_are_counted(s: Box<dyn Subject>) {
    let hot = s.hot();
    for n in 0..20 {
        rebuilt(&*hot, uid(n), &[("c", member(3, 0))]).await;
        hot.apply(&[told(uid(n), "c", head(4))]).await;
    }
    let usage = hot.usage().await.expect("usage");
    assert_eq!(usage.users, 20);
    assert!(usage.memory_bytes > 0);
}
