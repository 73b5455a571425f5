//! Table `buckets`.

use super::subject::{Subject, at, at_once};
use crate::row::Bucket;
use readmark_domain::id::Seq;

super::cases!(
    unknown_is_empty,
    newest_sent_at_is_a_maximum,
    ranges_and_pages,
    newest_come_first,
    concurrent_raises_keep_the_greatest,
);

fn bucket(number: u64, newest: u64) -> Bucket {
    Bucket { bucket: number, newest_sent_at: at(newest) }
}

async fn unknown_is_empty(s: Subject) {
    let id = s.conversation("c");
    assert_eq!(s.store.buckets(&id, 0, u64::MAX / 2, 10).await.unwrap(), []);
    assert_eq!(s.store.newest_buckets(&id, 10).await.unwrap(), []);
    s.store.raise_buckets(&id, &[]).await.unwrap();
    assert_eq!(s.store.newest_buckets(&id, 10).await.unwrap(), []);
}

async fn newest_sent_at_is_a_maximum(s: Subject) {
    let id = s.conversation("c");
    for (written, expected) in [(500, 500), (400, 500), (501, 501), (501, 501), (0, 501)] {
        s.store.raise_buckets(&id, &[bucket(3, written), bucket(4, 7)]).await.unwrap();
        assert_eq!(s.store.buckets(&id, 3, 3, 1).await.unwrap(), [bucket(3, expected)]);
    }
    s.store.raise_buckets(&id, &[bucket(5, 2), bucket(5, 9), bucket(5, 4)]).await.unwrap();
    assert_eq!(s.store.buckets(&id, 5, 5, 1).await.unwrap(), [bucket(5, 9)]);
    s.store.raise_buckets(&id, &[bucket(6, 0)]).await.unwrap();
    assert_eq!(s.store.buckets(&id, 6, 6, 1).await.unwrap(), [bucket(6, 0)]);
}

async fn ranges_and_pages(s: Subject) {
    let id = s.conversation("c");
    let last = Seq::LAST.bucket();
    let all = [0, 1, 255, 256, 70_000, last].map(|number| bucket(number, number % 1_000 + 1));
    s.store.raise_buckets(&id, &all).await.unwrap();
    assert_eq!(s.store.buckets(&id, 0, last, 100).await.unwrap(), all);
    assert_eq!(s.store.buckets(&id, 1, 256, 100).await.unwrap(), all[1..4]);
    assert_eq!(s.store.buckets(&id, 2, 254, 100).await.unwrap(), []);
    assert_eq!(s.store.buckets(&id, 256, 255, 100).await.unwrap(), []);
    let mut pages = Vec::new();
    let mut from = 0;
    loop {
        let page = s.store.buckets(&id, from, last, 2).await.unwrap();
        assert!(page.len() <= 2, "a page of {} buckets where 2 were asked", page.len());
        pages.extend(page.iter().copied());
        assert!(pages.len() <= all.len(), "paging does not advance: {pages:?}");
        let Some(greatest) = page.last().filter(|_| page.len() == 2) else { break };
        from = greatest.bucket + 1;
    }
    assert_eq!(pages, all);
}

async fn newest_come_first(s: Subject) {
    let id = s.conversation("c");
    let all = [0, 1, 2, 300, 4_000].map(|number| bucket(number, 5));
    s.store.raise_buckets(&id, &all).await.unwrap();
    let mut descending = all.to_vec();
    descending.reverse();
    assert_eq!(s.store.newest_buckets(&id, 3).await.unwrap(), descending[..3]);
    assert_eq!(s.store.newest_buckets(&id, 100).await.unwrap(), descending);
}

async fn concurrent_raises_keep_the_greatest(s: Subject) {
    let id = s.conversation("c");
    at_once(16, |task| {
        let (s, id) = (s.clone(), id.clone());
        async move {
            for n in 1..=10 {
                s.store.raise_buckets(&id, &[bucket(0, (n * 7 % 11) * 16 + task)]).await.unwrap();
            }
        }
    })
    .await;
    assert_eq!(s.store.buckets(&id, 0, 0, 1).await.unwrap(), [bucket(0, 10 * 16 + 15)]);
}
