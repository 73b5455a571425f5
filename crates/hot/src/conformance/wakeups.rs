use super::hands::{apply, apply_tally, begin, complete, head, member, rebuilt, tally, uid, woken};
use super::subject::Subject;
use crate::inbox::Wakeup;
use std::sync::Arc;

super::cases!(
    whoever_watches_is_woken,
    nobody_else_is_woken,
    several_subscribers,
    the_end_of_a_state_wakes,
    many_are_watched,
);

async fn whoever_watches_is_woken(s: Box<dyn Subject>) {
    let hot = s.hot();
    let (watch, mut wakeups) = hot.subscribe().await.expect("subscribe");
    rebuilt(&*hot, uid(1), &[("c", member(1, 0))]).await;
    watch.add(uid(1)).await;
    for n in 2..10 {
        apply(&*hot, uid(1), "c", head(n)).await;
        assert_eq!(woken(&mut wakeups).await, Wakeup::User(uid(1)));
    }
    apply_tally(&*hot, uid(1), tally(1, 1, 1, 2)).await;
    assert_eq!(woken(&mut wakeups).await, Wakeup::User(uid(1)));
}

/// A wake-up of the third user ends the wait for those that must not come.
async fn nobody_else_is_woken(s: Box<dyn Subject>) {
    let hot = s.hot();
    let (watch, mut wakeups) = hot.subscribe().await.expect("subscribe");
    for n in 1..=3 {
        rebuilt(&*hot, uid(n), &[("c", member(1, 0))]).await;
    }
    for n in [1, 3] {
        watch.add(uid(n)).await;
    }
    apply(&*hot, uid(1), "c", head(1)).await;
    apply(&*hot, uid(2), "c", head(2)).await;
    apply(&*hot, uid(3), "c", head(2)).await;
    assert_eq!(woken(&mut wakeups).await, Wakeup::User(uid(3)));
    watch.remove(uid(3)).await;
    apply(&*hot, uid(3), "c", head(3)).await;
    apply(&*hot, uid(1), "c", head(2)).await;
    assert_eq!(woken(&mut wakeups).await, Wakeup::User(uid(1)));
    watch.add(uid(3)).await;
    apply(&*hot, uid(3), "c", head(4)).await;
    assert_eq!(woken(&mut wakeups).await, Wakeup::User(uid(3)));
}

async fn several_subscribers(s: Box<dyn Subject>) {
    let hot = s.hot();
    rebuilt(&*hot, uid(1), &[("c", member(1, 0))]).await;
    let (watch_a, mut a) = hot.subscribe().await.expect("subscribe");
    let (watch_b, mut b) = hot.subscribe().await.expect("subscribe");
    watch_a.add(uid(1)).await;
    watch_b.add(uid(1)).await;
    apply(&*hot, uid(1), "c", head(2)).await;
    assert_eq!((woken(&mut a).await, woken(&mut b).await), (Wakeup::User(uid(1)), Wakeup::User(uid(1))));
    drop((watch_a, a));
    apply(&*hot, uid(1), "c", head(3)).await;
    assert_eq!(woken(&mut b).await, Wakeup::User(uid(1)));
}

async fn the_end_of_a_state_wakes(s: Box<dyn Subject>) {
    let hot = s.hot();
    let (watch, mut wakeups) = hot.subscribe().await.expect("subscribe");
    watch.add(uid(1)).await;
    for _ in 0..2 {
        let epoch = begin(&*hot, uid(1)).await;
        complete(&*hot, uid(1), &epoch).await;
        assert_eq!(woken(&mut wakeups).await, Wakeup::User(uid(1)));
        hot.forget(uid(1)).await.expect("forget");
        assert_eq!(woken(&mut wakeups).await, Wakeup::User(uid(1)));
    }
    rebuilt(&*hot, uid(1), &[]).await;
    assert_eq!(woken(&mut wakeups).await, Wakeup::User(uid(1)));
    hot.forget_all().await.expect("forget_all");
    let wakeup = woken(&mut wakeups).await;
    assert!([Wakeup::User(uid(1)), Wakeup::All].contains(&wakeup), "{wakeup:?}");
}

async fn many_are_watched(s: Box<dyn Subject>) {
    const USERS: u64 = 2_000;
    let hot = s.hot();
    let (watch, mut wakeups) = hot.subscribe().await.expect("subscribe");
    let mut adding = tokio::task::JoinSet::new();
    for n in 0..USERS {
        let watch = Arc::clone(&watch);
        adding.spawn(async move { watch.add(uid(n)).await });
    }
    adding.join_all().await;
    for n in [0, 1_000, USERS - 1] {
        rebuilt(&*hot, uid(n), &[]).await;
        assert_eq!(woken(&mut wakeups).await, Wakeup::User(uid(n)));
    }
}
