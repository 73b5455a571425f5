//! Table `read_arrays`.

use super::subject::{Subject, at_once, seq};
use crate::row::ReadArrayAdd;
use readmark_domain::id::{ConversationId, Seq, Uid};

super::cases!(
    unknown_is_empty,
    adds_are_a_union,
    repeats_change_nothing,
    answers_come_in_the_order_asked,
    chunks_of_any_number_make_one_set,
    one_call_may_span_conversations_and_messages,
    uids_of_any_size,
    concurrent_adds_lose_none,
    concurrent_adds_with_other_chunks_lose_none,
);

pub(super) fn add(s: &Subject, id: &ConversationId, n: u64, chunks: u16, readers: Vec<Uid>) -> ReadArrayAdd {
    ReadArrayAdd { conversation_id: id.clone(), seq: seq(n), chunks, message_expires_at: s.far(), readers }
}

pub(super) async fn readers(s: &Subject, id: &ConversationId, n: u64) -> Vec<Uid> {
    let arrays = s.store.read_arrays(id, &[seq(n)]).await.unwrap();
    assert_eq!(arrays.len(), 1, "one answer for each seq asked");
    arrays[0].readers().to_vec()
}

async fn unknown_is_empty(s: Subject) {
    let id = s.conversation("c");
    s.store.add_readers(&[]).await.unwrap();
    s.store.add_readers(&[add(&s, &id, 1, 1, vec![])]).await.unwrap();
    assert_eq!(readers(&s, &id, 1).await, []);
    assert_eq!(s.store.read_arrays(&id, &[]).await.unwrap(), []);
    // Receipts need no message: the store checks nothing, its callers do.
    s.store.add_readers(&[add(&s, &id, 2, 1, s.uids(1, 1))]).await.unwrap();
    assert_eq!(readers(&s, &id, 2).await, s.uids(1, 1));
    assert_eq!(s.store.messages(&id, seq(1), seq(9)).await.unwrap(), []);
    assert_eq!(s.store.conversation(&id).await.unwrap(), None);
}

async fn adds_are_a_union(s: Subject) {
    let id = s.conversation("c");
    s.store.add_readers(&[add(&s, &id, 7, 1, s.uids(10, 20))]).await.unwrap();
    s.store.add_readers(&[add(&s, &id, 7, 1, s.uids(1, 12))]).await.unwrap();
    s.store
        .add_readers(&[add(&s, &id, 7, 1, vec![s.uid(30), s.uid(25), s.uid(30), s.uid(25)])])
        .await
        .unwrap();
    let mut expected = s.uids(1, 20);
    expected.extend([s.uid(25), s.uid(30)]);
    assert_eq!(readers(&s, &id, 7).await, expected);
    assert_eq!(readers(&s, &id, 6).await, []);
    assert_eq!(readers(&s, &id, 8).await, []);
}

async fn repeats_change_nothing(s: Subject) {
    let id = s.conversation("c");
    for _ in 0..3 {
        for tenth in 0..10 {
            let hundred = s.uids(tenth * 100 + 1, tenth * 100 + 100);
            s.store.add_readers(&[add(&s, &id, 1, 2, hundred)]).await.unwrap();
        }
        assert_eq!(readers(&s, &id, 1).await, s.uids(1, 1_000));
    }
}

async fn answers_come_in_the_order_asked(s: Subject) {
    let id = s.conversation("c");
    for n in [1, 127, 128, 300] {
        s.store.add_readers(&[add(&s, &id, n, 1, vec![s.uid(n)])]).await.unwrap();
    }
    let asked = [300, 2, 128, 1, 300, 127].map(seq);
    let arrays = s.store.read_arrays(&id, &asked).await.unwrap();
    let got: Vec<Vec<Uid>> = arrays.iter().map(|array| array.readers().to_vec()).collect();
    let one = |n| vec![s.uid(n)];
    assert_eq!(got, [one(300), vec![], one(128), one(1), one(300), one(127)]);
}

async fn chunks_of_any_number_make_one_set(s: Subject) {
    let id = s.conversation("c");
    s.store.add_readers(&[add(&s, &id, 1, 1, s.uids(1, 100))]).await.unwrap();
    s.store.add_readers(&[add(&s, &id, 1, 4, s.uids(50, 200))]).await.unwrap();
    assert_eq!(readers(&s, &id, 1).await, s.uids(1, 200));
    s.store.add_readers(&[add(&s, &id, 1, 1_024, s.uids(150, 300))]).await.unwrap();
    s.store.add_readers(&[add(&s, &id, 1, 1, s.uids(250, 260))]).await.unwrap();
    assert_eq!(readers(&s, &id, 1).await, s.uids(1, 300));
    assert_eq!(readers(&s, &id, 2).await, []);
}

async fn one_call_may_span_conversations_and_messages(s: Subject) {
    let ids = [s.conversation("a"), s.conversation("b")];
    let mut adds = Vec::new();
    for (at, id) in (0..).zip(&ids) {
        for n in [1, 127, 128, Seq::MAX] {
            adds.push(add(&s, id, n, 2, vec![s.uid(n % 1_000 + at), s.uid(5_000)]));
        }
    }
    // One of them in two parts.
    adds.push(add(&s, &ids[0], 1, 2, vec![s.uid(6_000)]));
    s.store.add_readers(&adds).await.unwrap();
    for (at, id) in (0..).zip(&ids) {
        for n in [1, 127, 128, Seq::MAX] {
            let mut expected = vec![s.uid(n % 1_000 + at), s.uid(5_000)];
            if at == 0 && n == 1 {
                expected.push(s.uid(6_000));
            }
            assert_eq!(readers(&s, id, n).await, expected, "message {n} of {id}");
        }
    }
}

async fn uids_of_any_size(s: Subject) {
    let id = s.conversation("c");
    let mut uids: Vec<Uid> = [0, 1, 127, 128, 255, 256, u64::from(u32::MAX), 1 << 62, Uid::MAX - 1, Uid::MAX]
        .into_iter()
        .map(|n| Uid::new(n).unwrap())
        .collect();
    for uid in uids.iter().rev() {
        s.store.add_readers(&[add(&s, &id, 1, 3, vec![*uid])]).await.unwrap();
    }
    assert_eq!(readers(&s, &id, 1).await, uids);
    uids.reverse();
    s.store.add_readers(&[add(&s, &id, 2, 1, uids.clone())]).await.unwrap();
    uids.reverse();
    assert_eq!(readers(&s, &id, 2).await, uids);
}

/// 16 tasks add 1,000 readers in small overlapping batches.
async fn add_from_16_tasks(s: &Subject, id: &ConversationId, chunks_of: fn(u64) -> u16) {
    at_once(16, |task| {
        let (s, id) = (s.clone(), id.clone());
        async move {
            // Each task's share, and some of its neighbour's.
            let share: Vec<u64> =
                (1..=1_000).filter(|n| n % 16 == task || n % 32 == (task + 1) % 32).collect();
            for batch in share.chunks(8) {
                let uids = batch.iter().map(|n| s.uid(*n)).collect();
                s.store.add_readers(&[add(&s, &id, 1, chunks_of(task), uids)]).await.unwrap();
            }
        }
    })
    .await;
}

async fn concurrent_adds_lose_none(s: Subject) {
    let id = s.conversation("c");
    add_from_16_tasks(&s, &id, |_| 2).await;
    assert_eq!(readers(&s, &id, 1).await, s.uids(1, 1_000));
    add_from_16_tasks(&s, &id, |_| 2).await;
    assert_eq!(readers(&s, &id, 1).await, s.uids(1, 1_000));
}

async fn concurrent_adds_with_other_chunks_lose_none(s: Subject) {
    let id = s.conversation("c");
    add_from_16_tasks(&s, &id, |task| if task % 2 == 0 { 1 } else { 4 }).await;
    assert_eq!(readers(&s, &id, 1).await, s.uids(1, 1_000));
}
