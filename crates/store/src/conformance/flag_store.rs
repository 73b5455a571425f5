//! Table `uncounted`: flags of seqs.

use super::subject::{NOT_COUNTABLE, RECALLED, SKIPPED, Subject, at_once, permutations, seq};
use readmark_domain::counting::MessageFlags;
use readmark_domain::id::Seq;

super::cases!(
    unknown_is_empty,
    flags_only_grow,
    flags_may_come_before_the_message,
    ranges_and_pages,
    concurrent_flags_of_one_seq_are_all_kept,
);

async fn unknown_is_empty(s: Subject) {
    let id = s.conversation("c");
    s.store.add_flags(&id, &[]).await.unwrap();
    assert_eq!(s.store.flags(&id, Seq::ZERO, Seq::LAST, 10).await.unwrap(), []);
    s.store.add_flags(&id, &[(seq(5), MessageFlags::default())]).await.unwrap();
    assert_eq!(s.store.flags(&id, Seq::ZERO, Seq::LAST, 10).await.unwrap(), [], "no flag is no flagged seq");
}

async fn flags_only_grow(s: Subject) {
    for (n, order) in permutations(&[RECALLED, SKIPPED, NOT_COUNTABLE]).into_iter().enumerate() {
        let id = s.conversation(&format!("c{n}"));
        let mut expected = MessageFlags::default();
        for flags in order.iter().chain(&order) {
            s.store.add_flags(&id, &[(seq(3), *flags)]).await.unwrap();
            expected = expected.merge(*flags);
            assert_eq!(s.store.flags(&id, seq(3), seq(3), 1).await.unwrap(), [(seq(3), expected)]);
        }
    }
    let id = s.conversation("twice");
    s.store.add_flags(&id, &[(seq(1), SKIPPED), (seq(1), RECALLED)]).await.unwrap();
    assert_eq!(s.store.flags(&id, seq(1), seq(1), 1).await.unwrap(), [(seq(1), SKIPPED.merge(RECALLED))]);
}

async fn flags_may_come_before_the_message(s: Subject) {
    let id = s.conversation("c");
    s.store.add_flags(&id, &[(seq(5), RECALLED)]).await.unwrap();
    assert_eq!(s.store.messages(&id, seq(1), seq(9)).await.unwrap(), [], "a flag makes no message");
    s.store.write_messages(&[(s.message(&id, 5), s.far())]).await.unwrap();
    assert_eq!(s.store.messages(&id, seq(1), seq(9)).await.unwrap(), [s.message(&id, 5)]);
    assert_eq!(s.store.flags(&id, seq(1), seq(9), 10).await.unwrap(), [(seq(5), RECALLED)]);
}

async fn ranges_and_pages(s: Subject) {
    let id = s.conversation("c");
    // 65,535 | 65,536 is where a wide partition of flags may end.
    let all = [1, 2, 127, 128, 65_535, 65_536, 131_071, 131_072, Seq::MAX].map(|n| (seq(n), SKIPPED));
    s.store.add_flags(&id, &all).await.unwrap();
    assert_eq!(s.store.flags(&id, Seq::ZERO, Seq::LAST, 100).await.unwrap(), all);
    assert_eq!(s.store.flags(&id, seq(2), seq(65_536), 100).await.unwrap(), all[1..6]);
    assert_eq!(s.store.flags(&id, seq(3), seq(126), 100).await.unwrap(), []);
    assert_eq!(s.store.flags(&id, seq(128), seq(127), 100).await.unwrap(), []);
    assert_eq!(s.store.flags(&id, seq(2), Seq::LAST, 4).await.unwrap(), all[1..5]);
    let mut pages = Vec::new();
    let mut from = Seq::ZERO;
    loop {
        let page = s.store.flags(&id, from, Seq::LAST.previous(), 2).await.unwrap();
        assert!(page.len() <= 2, "a page of {} flags where 2 were asked", page.len());
        pages.extend(page.iter().copied());
        assert!(pages.len() <= all.len(), "paging does not advance: {pages:?}");
        let Some((greatest, _)) = page.last().filter(|_| page.len() == 2) else { break };
        from = greatest.next();
    }
    assert_eq!(pages, all[..8]);
}

async fn concurrent_flags_of_one_seq_are_all_kept(s: Subject) {
    let id = s.conversation("c");
    at_once(15, |task| {
        let (s, id) = (s.clone(), id.clone());
        async move {
            let flags = [RECALLED, SKIPPED, NOT_COUNTABLE][usize::try_from(task % 3).unwrap()];
            s.store.add_flags(&id, &[(seq(task / 3 + 1), flags)]).await.unwrap();
        }
    })
    .await;
    let every = RECALLED.merge(SKIPPED).merge(NOT_COUNTABLE);
    let expected: Vec<_> = (1..=5).map(|n| (seq(n), every)).collect();
    assert_eq!(s.store.flags(&id, seq(1), seq(9), 10).await.unwrap(), expected);
}
