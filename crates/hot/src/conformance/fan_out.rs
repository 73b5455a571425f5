use super::hands::{counts, head, id, member, rebuilt, told, uid};
use super::subject::Subject;
use crate::port::UserChange;
use readmark_domain::hot::Change;
use std::sync::Arc;

super::cases!(answers_come_in_the_order_asked, nothing_asked_nothing_answered, a_user_may_come_several_times);

const USERS: u64 = 1_000;

/// One message to many members, of whom some have no state.
async fn answers_come_in_the_order_asked(s: Box<dyn Subject>) {
    let hot = s.hot();
    let has_state = |n: u64| !n.is_multiple_of(3);
    for n in (0..USERS).filter(|n| has_state(*n)) {
        rebuilt(&*hot, uid(n), &[("c", member(1, 0))]).await;
    }
    let change = Arc::new(head(7));
    let changes: Vec<_> = (0..USERS)
        .map(|n| UserChange { uid: uid(n), conversation_id: id("c"), change: Arc::clone(&change) })
        .collect();
    for appended in [1, 0] {
        let answers = hot.apply(&changes).await;
        assert_eq!(answers.len() as u64, USERS);
        for (n, answer) in (0..).zip(answers) {
            let applied = answer.expect("apply");
            let wanted = has_state(n).then_some((1, appended));
            assert_eq!(applied.map(|applied| (applied.version.get(), applied.appended)), wanted, "user {n}");
        }
    }
    assert_eq!(counts(&*hot, uid(1)).await, [(7, 0)]);
}

async fn nothing_asked_nothing_answered(s: Box<dyn Subject>) {
    assert!(s.hot().apply(&[]).await.is_empty());
    assert!(s.hot().apply_tallies(&[]).await.is_empty());
}

async fn a_user_may_come_several_times(s: Box<dyn Subject>) {
    let hot = s.hot();
    rebuilt(&*hot, uid(1), &[("c", member(0, 0)), ("d", member(0, 0))]).await;
    let changes: Vec<_> =
        (1..=200).flat_map(|n| [told(uid(1), "c", head(n)), told(uid(1), "d", Change::default())]).collect();
    let answers = hot.apply(&changes).await;
    let newest =
        answers.into_iter().map(|answer| answer.expect("apply").expect("a state").version.get()).max();
    assert!(newest.is_some_and(|newest| newest <= 200));
    assert_eq!(counts(&*hot, uid(1)).await, [(200, 0), (0, 0)]);
}
