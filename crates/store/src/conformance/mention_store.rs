//! Table `mentions`.

use super::subject::{Subject, seq};
use readmark_domain::id::Seq;

super::cases!(unknown_is_empty, own_and_everybodys_are_one_list, ranges_and_pages, everybody_is_one_row);

async fn unknown_is_empty(s: Subject) {
    let id = s.conversation("c");
    s.store.add_mentions(&id, seq(3), &[]).await.unwrap();
    assert_eq!(s.store.mentions(s.uid(1), &id, Seq::ZERO, Seq::LAST, 10).await.unwrap(), []);
}

async fn own_and_everybodys_are_one_list(s: Subject) {
    let (id, other) = (s.conversation("c"), s.conversation("d"));
    for _ in 0..2 {
        s.store.add_mentions(&id, seq(9), &[s.uid(1), s.uid(2), s.uid(1)]).await.unwrap();
        s.store.add_mentions(&id, seq(3), &[s.uid(1)]).await.unwrap();
        s.store.add_mentions(&id, seq(4), &[s.uid(2)]).await.unwrap();
        s.store.add_mention_all(&id, seq(5)).await.unwrap();
        // Mentioned by name and with everybody: once.
        s.store.add_mention_all(&id, seq(9)).await.unwrap();
        s.store.add_mention_all(&other, seq(6)).await.unwrap();
    }
    let of = async |n| s.store.mentions(s.uid(n), &id, Seq::ZERO, Seq::LAST, 10).await.unwrap();
    assert_eq!(of(1).await, [seq(3), seq(5), seq(9)]);
    assert_eq!(of(2).await, [seq(4), seq(5), seq(9)]);
    assert_eq!(of(3).await, [seq(5), seq(9)]);
    assert_eq!(s.store.mentions(s.uid(1), &other, Seq::ZERO, Seq::LAST, 10).await.unwrap(), [seq(6)]);
}

async fn ranges_and_pages(s: Subject) {
    let (id, uid) = (s.conversation("c"), s.last_uid());
    let own = [1, 3, 127, 256, 65_536, Seq::MAX];
    let everybodys = [2, 3, 128, 65_537];
    for n in own {
        s.store.add_mentions(&id, seq(n), &[uid]).await.unwrap();
    }
    for n in everybodys {
        s.store.add_mention_all(&id, seq(n)).await.unwrap();
    }
    let all = [1, 2, 3, 127, 128, 256, 65_536, 65_537, Seq::MAX].map(seq);
    let read = async |first, last, limit| s.store.mentions(uid, &id, first, last, limit).await.unwrap();
    assert_eq!(read(Seq::ZERO, Seq::LAST, 100).await, all);
    assert_eq!(read(seq(2), seq(127), 100).await, all[1..4]);
    assert_eq!(read(seq(129), seq(255), 100).await, []);
    assert_eq!(read(seq(3), seq(2), 100).await, []);
    // Everybody's are the smaller ones here: a page must take the smallest of both lists.
    for limit in 1..=all.len() {
        assert_eq!(read(seq(2), Seq::LAST, limit).await, all[1..all.len().min(limit + 1)], "limit {limit}");
    }
    let mut pages = Vec::new();
    let mut from = Seq::ZERO;
    loop {
        let page = read(from, Seq::LAST.previous(), 3).await;
        pages.extend(page.iter().copied());
        assert!(pages.len() <= all.len(), "paging does not advance: {pages:?}");
        let Some(greatest) = page.last().filter(|_| page.len() == 3) else { break };
        from = greatest.next();
    }
    assert_eq!(pages, all[..8]);
}

async fn everybody_is_one_row(s: Subject) {
    let id = s.conversation("c");
    for _ in 0..3 {
        s.store.add_mention_all(&id, seq(7)).await.unwrap();
    }
    // Also somebody who joined later and has no row of any kind.
    assert_eq!(s.store.mentions(s.uid(99), &id, seq(7), seq(7), 10).await.unwrap(), [seq(7)]);
    assert_eq!(s.store.members(&id).await.unwrap(), []);
    assert_eq!(s.store.user_conversation(s.uid(99), &id).await.unwrap(), None);
}
