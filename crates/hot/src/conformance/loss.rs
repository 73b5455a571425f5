use super::hands::{
    DEADLINE, apply, apply_tally, begin, counts, entries, expect_missing, head, member, rebuilt, tally, uid,
    wait_until,
};
use super::subject::{Loss, Subject};
use crate::inbox::Wakeup;
use crate::port::Held;
use readmark_domain::hot::{Completed, SyncToken, Synced};
use std::collections::BTreeSet;
use std::time::Instant;

super::cases!(
    lost_scripts_are_sent_again,
    lost_states_are_missing,
    a_restart_ends_every_state,
    a_rebuild_is_lost_with_its_state,
    subscribers_survive_a_restart,
);

/// L5.
async fn lost_scripts_are_sent_again(mut s: Box<dyn Subject>) {
    let hot = s.hot();
    let token = rebuilt(&*hot, uid(1), &[("c", member(1, 0))]).await;
    for n in 2..6 {
        s.lose(Loss::Scripts).await;
        assert_eq!(apply(&*hot, uid(1), "c", head(n)).await.appended, 1);
        s.lose(Loss::Scripts).await;
        assert_eq!(apply_tally(&*hot, uid(1), tally(n, 1, 1, 2)).await.appended, 1);
        s.lose(Loss::Scripts).await;
        assert_eq!(counts(&*hot, uid(1)).await, [(n, 0)]);
    }
    s.lose(Loss::Scripts).await;
    assert_eq!(entries(&*hot, uid(1), &token).await.len(), 8);
}

/// S4, E12: never zero.
async fn lost_states_are_missing(mut s: Box<dyn Subject>) {
    let hot = s.hot();
    let token = rebuilt(&*hot, uid(1), &[("c", member(2, 0))]).await;
    apply(&*hot, uid(1), "c", head(3)).await;
    s.lose(Loss::States).await;
    expect_missing(&*hot, uid(1), &token).await;
    rebuilt(&*hot, uid(1), &[("c", member(3, 0))]).await;
    assert_eq!(counts(&*hot, uid(1)).await, [(3, 0)]);
    assert_eq!(hot.entries(uid(1), &token, 10).await.expect("entries"), Held::Complete(Synced::TooOld));
}

/// R10: also what the server has kept, since it may lack the last writes.
async fn a_restart_ends_every_state(mut s: Box<dyn Subject>) {
    let hot = s.hot();
    let token = rebuilt(&*hot, uid(1), &[("c", member(2, 0))]).await;
    apply(&*hot, uid(1), "c", head(3)).await;
    let newest = SyncToken { version: super::hands::version(1), ..token.clone() };
    s.lose(Loss::Restart).await;
    let hot = s.hot();
    wait_until(&*s, "the server answers again", || async { hot.probe().await.is_ok() }).await;
    expect_missing(&*hot, uid(1), &token).await;
    expect_missing(&*hot, uid(1), &newest).await;
    rebuilt(&*hot, uid(1), &[("c", member(3, 0))]).await;
    for old in [&token, &newest] {
        assert_eq!(hot.entries(uid(1), old, 10).await.expect("entries"), Held::Complete(Synced::TooOld));
    }
    assert_eq!(counts(&*hot, uid(1)).await, [(3, 0)]);
}

async fn a_rebuild_is_lost_with_its_state(mut s: Box<dyn Subject>) {
    let hot = s.hot();
    for loss in [Loss::States, Loss::Restart] {
        let epoch = begin(&*hot, uid(1)).await;
        apply(&*hot, uid(1), "c", member(2, 0)).await;
        s.lose(loss).await;
        wait_until(&*s, "the server answers again", || async { hot.probe().await.is_ok() }).await;
        assert_eq!(
            hot.complete_rebuild(uid(1), &epoch).await.expect("complete_rebuild"),
            Completed::Lost,
            "{loss:?}"
        );
        rebuilt(&*hot, uid(1), &[]).await;
        hot.forget(uid(1)).await.expect("forget");
    }
}

/// L1: by themselves, and told that they may have missed something.
async fn subscribers_survive_a_restart(mut s: Box<dyn Subject>) {
    let hot = s.hot();
    let (watch, mut wakeups) = hot.subscribe().await.expect("subscribe");
    watch.add(uid(1)).await;
    watch.add(uid(2)).await;
    s.lose(Loss::Restart).await;
    watch.add(uid(3)).await;
    wait_until(&*s, "the server answers again", || async { hot.probe().await.is_ok() }).await;
    for n in 1..=3 {
        rebuilt(&*hot, uid(n), &[("c", member(1, 0))]).await;
    }
    let (start, mut users, mut newest) = (Instant::now(), BTreeSet::new(), 1);
    while users.len() < 3 {
        assert!(start.elapsed() < DEADLINE, "only {users:?} wake within {DEADLINE:?}");
        newest += 1;
        for n in 1..=3 {
            apply(&*hot, uid(n), "c", head(newest)).await;
        }
        s.pass_ms(10).await;
        while let Some(wakeup) = wakeups.try_next() {
            if let Wakeup::User(uid) = wakeup {
                users.insert(uid);
            }
        }
    }
}
