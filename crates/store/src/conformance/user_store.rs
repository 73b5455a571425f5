//! Tables `user_conversations` and `user_settings`.

use super::member_store::{join, leave};
use super::subject::{Subject, at, at_once, latest, permutations, seq, switch};
use crate::row::{Raise, UserConversation};
use readmark_domain::id::{ConversationId, Endpoint, Seq, Uid};
use readmark_domain::register::{Latest, ReadMark, UserSwitches};

super::cases!(
    unknown_is_none,
    every_register_is_a_maximum,
    a_tie_of_read_goes_by_time_then_endpoint,
    flags_go_by_order_then_true,
    registers_of_one_call_land_together,
    registers_do_not_touch_each_other,
    pages_of_conversations_ascend_bytewise,
    absent_conversations_are_listed_too,
    switches_are_a_grow_only_set,
    concurrent_raises_keep_the_greatest,
);

pub(super) fn read(n: u64, read_at: u64, endpoint: Option<&str>) -> Raise {
    Raise::Read { seq: seq(n), read_at: at(read_at), endpoint: endpoint.map(endpoint_id) }
}

fn endpoint_id(text: &str) -> Endpoint {
    Endpoint::new(text).unwrap()
}

async fn get(s: &Subject, uid: Uid, id: &ConversationId) -> UserConversation {
    s.store.user_conversation(uid, id).await.unwrap().expect("the row was written")
}

async fn unknown_is_none(s: Subject) {
    let (id, other) = (s.conversation("c"), s.conversation("d"));
    s.store.raise(s.uid(1), &id, &[Raise::Own(seq(1))]).await.unwrap();
    assert_eq!(s.store.user_conversation(s.uid(2), &id).await.unwrap(), None);
    assert_eq!(s.store.user_conversation(s.uid(1), &other).await.unwrap(), None);
    assert_eq!(s.store.user_conversations(s.uid(2), None, 10).await.unwrap(), []);
    assert_eq!(s.store.user_switches(s.uid(1)).await.unwrap(), UserSwitches::default());
}

async fn every_register_is_a_maximum(s: Subject) {
    type Make = fn(Seq) -> Raise;
    type Get = fn(&UserConversation) -> Seq;
    let registers: [(Make, Get); 6] = [
        (|to| read(to.get(), 5, None), |row| row.read.seq),
        (Raise::Cleared, |row| row.cleared),
        (Raise::Own, |row| row.own),
        (Raise::Claimed, |row| row.claimed),
        (Raise::Receipted, |row| row.receipted),
        (Raise::Imported, |row| row.imported),
    ];
    for (n, (make, get_register)) in registers.into_iter().enumerate() {
        for (m, sequence) in permutations(&[seq(9), seq(10), Seq::LAST, seq(256)]).into_iter().enumerate() {
            let id = s.conversation(&format!("c{n}-{m}"));
            let mut greatest = Seq::ZERO;
            for to in &sequence {
                s.store.raise(s.uid(1), &id, &[make(*to)]).await.unwrap();
                greatest = greatest.max(*to);
                let row = get(&s, s.uid(1), &id).await;
                assert_eq!(get_register(&row), greatest, "register {n}, raised in the order {sequence:?}");
            }
        }
    }
}

async fn a_tie_of_read_goes_by_time_then_endpoint(s: Subject) {
    let marks = [
        read(12, 100, Some("phone")),
        read(12, 100, None),
        read(12, 101, Some("a")),
        read(12, 101, Some("ab")),
        read(11, 900, Some("z")),
    ];
    let greatest = ReadMark { seq: seq(12), read_at: at(101), endpoint: Some(endpoint_id("ab")) };
    for (n, sequence) in permutations(&marks).into_iter().enumerate() {
        let id = s.conversation(&format!("c{n}"));
        for mark in &sequence {
            s.store.raise(s.uid(1), &id, std::slice::from_ref(mark)).await.unwrap();
        }
        assert_eq!(get(&s, s.uid(1), &id).await.read, greatest, "marked in the order {sequence:?}");
    }
}

async fn flags_go_by_order_then_true(s: Subject) {
    let writes = [latest(3, true), latest(4, false), latest(4, true), latest(2, false)];
    for (n, sequence) in permutations(&writes).into_iter().enumerate() {
        let id = s.conversation(&format!("c{n}"));
        for write in &sequence {
            s.store.raise(s.uid(1), &id, &[Raise::Muted(*write)]).await.unwrap();
            let marked = Latest { value: !write.value, ..*write };
            s.store.raise(s.uid(1), &id, &[Raise::MarkedUnread(marked)]).await.unwrap();
        }
        let row = get(&s, s.uid(1), &id).await;
        assert_eq!(row.muted, Some(latest(4, true)), "written in the order {sequence:?}");
        assert_eq!(row.marked_unread, Some(latest(4, true)), "written in the order {sequence:?}");
    }
}

async fn registers_of_one_call_land_together(s: Subject) {
    let (id, uid) = (s.conversation("c"), s.uid(1));
    let raises = [
        read(12, 100, Some("phone")),
        Raise::Claimed(seq(12)),
        Raise::Claimed(seq(11)),
        Raise::MarkedUnread(latest(100, false)),
        Raise::Receipted(seq(5)),
        Raise::Imported(seq(4)),
        Raise::Own(seq(3)),
        Raise::Cleared(seq(2)),
        Raise::Muted(latest(99, true)),
    ];
    let expected = UserConversation {
        presence: None,
        joined: Seq::ZERO,
        read: ReadMark { seq: seq(12), read_at: at(100), endpoint: Some(endpoint_id("phone")) },
        cleared: seq(2),
        own: seq(3),
        claimed: seq(12),
        receipted: seq(5),
        imported: seq(4),
        muted: Some(latest(99, true)),
        marked_unread: Some(latest(100, false)),
    };
    for _ in 0..2 {
        s.store.raise(uid, &id, &raises).await.unwrap();
        assert_eq!(get(&s, uid, &id).await, expected);
    }
}

async fn registers_do_not_touch_each_other(s: Subject) {
    let (id, uid) = (s.conversation("c"), s.uid(1));
    s.store.change_members(&id, &[join(uid, 5, 7)]).await.unwrap();
    s.store.raise(uid, &id, &[read(9, 1, None)]).await.unwrap();
    s.store.raise(uid, &id, &[Raise::Muted(latest(1, true))]).await.unwrap();
    s.store.change_members(&id, &[leave(uid, 6)]).await.unwrap();
    let row = get(&s, uid, &id).await;
    assert_eq!((row.joined, row.read.seq, row.muted), (seq(7), seq(9), Some(latest(1, true))));
    assert!(!row.is_present());
}

async fn pages_of_conversations_ascend_bytewise(s: Subject) {
    let uid = s.uid(1);
    let mut ids: Vec<ConversationId> =
        ["c", "c1", "c10", "c2", "C", " ", "a b", "é", "e", "中文", "🦀", "c1/x", "~"]
            .map(|name| s.conversation(name))
            .to_vec();
    for (n, id) in (1..).zip(&ids) {
        s.store.raise(uid, id, &[Raise::Own(seq(n))]).await.unwrap();
        s.store.raise(s.uid(2), id, &[Raise::Own(seq(99))]).await.unwrap();
    }
    let unsorted = ids.clone();
    ids.sort_unstable();
    for limit in [1, 4, 13, 100] {
        let mut pages: Vec<ConversationId> = Vec::new();
        loop {
            let page = s.store.user_conversations(uid, pages.last(), limit).await.unwrap();
            assert!(page.len() <= limit, "a page of {} where {limit} were asked", page.len());
            if page.is_empty() {
                break;
            }
            for entry in page {
                let n = (1..).zip(&unsorted).find(|(_, id)| **id == entry.conversation_id).unwrap().0;
                assert_eq!(entry.registers.own, seq(n), "registers of another conversation");
                pages.push(entry.conversation_id);
                assert!(pages.len() <= ids.len(), "paging does not advance: {pages:?}");
            }
        }
        assert_eq!(pages, ids, "pages of {limit}");
    }
    // After an id that has no row.
    let after = s.conversation("c100");
    let page = s.store.user_conversations(uid, Some(&after), 1).await.unwrap();
    assert_eq!(page[0].conversation_id, s.conversation("c2"));
}

async fn absent_conversations_are_listed_too(s: Subject) {
    let (id, uid) = (s.conversation("c"), s.uid(1));
    s.store.change_members(&id, &[join(uid, 5, 7), leave(uid, 6)]).await.unwrap();
    let page = s.store.user_conversations(uid, None, 10).await.unwrap();
    assert_eq!(page.len(), 1);
    assert_eq!(page[0].registers, get(&s, uid, &id).await);
    assert!(!page[0].registers.is_present());
}

async fn switches_are_a_grow_only_set(s: Subject) {
    let all = [switch(5, 5, false), switch(5, 5, true), switch(4, 9, true), switch(6, 1, true)];
    let expected: UserSwitches = all.into_iter().collect();
    for (n, sequence) in (1..).zip(permutations(&all)) {
        for switch in sequence.iter().chain(&sequence) {
            s.store.add_user_switch(s.uid(n), *switch).await.unwrap();
        }
        assert_eq!(
            s.store.user_switches(s.uid(n)).await.unwrap(),
            expected,
            "added in the order {sequence:?}"
        );
    }
    assert!(s.store.user_switches(s.uid(9_999)).await.unwrap().is_empty());
}

async fn concurrent_raises_keep_the_greatest(s: Subject) {
    let (id, uid) = (s.conversation("c"), s.uid(1));
    at_once(16, |task| {
        let (s, id) = (s.clone(), id.clone());
        async move {
            for n in 0..20 {
                let to = (n * 7 % 20) * 16 + task + 1;
                let raises = [
                    read(to, to, Some("phone")),
                    Raise::Claimed(seq(to)),
                    Raise::Muted(latest(to, task % 2 == 0)),
                ];
                s.store.raise(uid, &id, &raises).await.unwrap();
                s.store.add_user_switch(uid, switch(to, to, true)).await.unwrap();
            }
        }
    })
    .await;
    let row = get(&s, uid, &id).await;
    assert_eq!((row.read.seq, row.claimed), (seq(320), seq(320)));
    assert_eq!(row.read.read_at, at(320), "the parts of one mark stay together");
    assert_eq!(row.muted, Some(latest(320, false)));
    assert_eq!(s.store.user_switches(uid).await.unwrap().iter().count(), 320);
}
