//! Table `conversations`.

use super::subject::{Subject, at_once, latest, permutations, seq, switch};
use crate::row::Conversation;
use readmark_domain::id::{ConversationId, Seq};
use readmark_domain::register::{Latest, ReceiptsMode, Switch};

super::cases!(
    unknown_is_none,
    head_is_a_maximum,
    imported_head_raises_the_head_and_is_a_maximum,
    policy_is_a_grow_only_set,
    closed_goes_by_order_in_any_order,
    closed_wins_a_tie,
    large_stays,
    registers_do_not_touch_each_other,
    concurrent_raises_keep_the_greatest,
    concurrent_switches_are_all_kept,
);

async fn get(s: &Subject, id: &ConversationId) -> Conversation {
    s.store.conversation(id).await.unwrap().expect("the conversation was written")
}

async fn unknown_is_none(s: Subject) {
    s.store.raise_head(&s.conversation("known"), seq(3)).await.unwrap();
    assert_eq!(s.store.conversation(&s.conversation("unknown")).await.unwrap(), None);
    s.store.probe().await.unwrap();
}

async fn head_is_a_maximum(s: Subject) {
    for (n, heads) in permutations(&[seq(1), seq(9), seq(10)]).into_iter().enumerate() {
        let id = s.conversation(&format!("c{n}"));
        for head in &heads {
            s.store.raise_head(&id, *head).await.unwrap();
        }
        assert_eq!(
            get(&s, &id).await,
            Conversation { head: seq(10), ..Conversation::default() },
            "{heads:?}"
        );
    }
    let id = s.conversation("last");
    s.store.raise_head(&id, Seq::LAST).await.unwrap();
    s.store.raise_head(&id, Seq::LAST.previous()).await.unwrap();
    assert_eq!(get(&s, &id).await.head, Seq::LAST);
}

async fn imported_head_raises_the_head_and_is_a_maximum(s: Subject) {
    let id = s.conversation("c");
    s.store.raise_imported_head(&id, seq(500)).await.unwrap();
    assert_eq!((get(&s, &id).await.imported_head, get(&s, &id).await.head), (seq(500), seq(500)));
    s.store.raise_head(&id, seq(600)).await.unwrap();
    s.store.raise_imported_head(&id, seq(400)).await.unwrap();
    assert_eq!((get(&s, &id).await.imported_head, get(&s, &id).await.head), (seq(500), seq(600)));
    s.store.raise_imported_head(&id, seq(550)).await.unwrap();
    assert_eq!((get(&s, &id).await.imported_head, get(&s, &id).await.head), (seq(550), seq(600)));
}

async fn policy_is_a_grow_only_set(s: Subject) {
    let switches = [
        switch(1_000, 1_000, ReceiptsMode::Off),
        switch(1_001, 991, ReceiptsMode::Full),
        switch(1_001, 991, ReceiptsMode::Count),
        switch(1_001, 992, ReceiptsMode::Full),
    ];
    let expected: Vec<Switch<ReceiptsMode>> = switches
        .iter()
        .copied()
        .collect::<readmark_domain::register::PolicySwitches>()
        .iter()
        .copied()
        .collect();
    assert_eq!(expected.len(), switches.len());
    for (n, order) in permutations(&switches).into_iter().enumerate() {
        let id = s.conversation(&format!("c{n}"));
        for switch in order.iter().chain(&order) {
            s.store.add_policy(&id, *switch).await.unwrap();
        }
        let stored: Vec<_> = get(&s, &id).await.policy.iter().copied().collect();
        assert_eq!(stored, expected, "added in the order {order:?}");
    }
}

async fn closed_goes_by_order_in_any_order(s: Subject) {
    let writes = [latest(1, true), latest(2, false), latest(3, true), latest(4, false)];
    for (n, order) in permutations(&writes).into_iter().enumerate() {
        let id = s.conversation(&format!("c{n}"));
        for write in &order {
            s.store.set_closed(&id, *write).await.unwrap();
        }
        assert_eq!(get(&s, &id).await.closed, Some(latest(4, false)), "written in the order {order:?}");
    }
}

async fn closed_wins_a_tie(s: Subject) {
    for (n, values) in [[true, false], [false, true]].into_iter().enumerate() {
        let id = s.conversation(&format!("c{n}"));
        for value in values {
            s.store.set_closed(&id, latest(5, value)).await.unwrap();
        }
        assert_eq!(get(&s, &id).await.closed, Some(latest(5, true)));
        s.store.set_closed(&id, latest(6, false)).await.unwrap();
        assert!(!get(&s, &id).await.is_closed());
    }
}

async fn large_stays(s: Subject) {
    let id = s.conversation("c");
    s.store.raise_head(&id, seq(1)).await.unwrap();
    assert!(!get(&s, &id).await.large);
    s.store.set_large(&id).await.unwrap();
    s.store.set_large(&id).await.unwrap();
    s.store.raise_head(&id, seq(2)).await.unwrap();
    assert!(get(&s, &id).await.large);
}

async fn registers_do_not_touch_each_other(s: Subject) {
    let id = s.conversation("c");
    let off = switch(9, 9, ReceiptsMode::Off);
    for _ in 0..2 {
        s.store.set_large(&id).await.unwrap();
        s.store.set_closed(&id, latest(7, true)).await.unwrap();
        s.store.add_policy(&id, off).await.unwrap();
        s.store.raise_imported_head(&id, seq(3)).await.unwrap();
        s.store.raise_head(&id, seq(5)).await.unwrap();
    }
    let expected = Conversation {
        head: seq(5),
        imported_head: seq(3),
        policy: [off].into_iter().collect(),
        closed: Some(Latest { value: true, ..latest(7, true) }),
        large: true,
    };
    assert_eq!(get(&s, &id).await, expected);
}

async fn concurrent_raises_keep_the_greatest(s: Subject) {
    let id = s.conversation("c");
    at_once(16, |task| {
        let (s, id) = (s.clone(), id.clone());
        async move {
            for n in 1..=25 {
                // Every task raises to other seqs, in an order of its own.
                s.store.raise_head(&id, seq((n * 7 % 26) * 16 + task)).await.unwrap();
                s.store.set_closed(&id, latest((n * 11 % 26) * 16 + task, task % 2 == 0)).await.unwrap();
            }
        }
    })
    .await;
    assert_eq!(get(&s, &id).await.head, seq(25 * 16 + 15));
    assert_eq!(get(&s, &id).await.closed, Some(latest(25 * 16 + 15, false)));
}

async fn concurrent_switches_are_all_kept(s: Subject) {
    let id = s.conversation("c");
    at_once(16, |task| {
        let (s, id) = (s.clone(), id.clone());
        async move {
            s.store.add_policy(&id, switch(task, task, ReceiptsMode::Count)).await.unwrap();
        }
    })
    .await;
    assert_eq!(get(&s, &id).await.policy.iter().count(), 16);
}
