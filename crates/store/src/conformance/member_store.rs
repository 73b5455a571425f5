//! Table `members`.

use super::subject::{Subject, at, at_once, order, permutations, seq, switch};
use crate::row::{MemberChange, Raise, UserConversation};
use readmark_domain::counting::Member;
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::register::{Presence, UserSwitches};

super::cases!(
    unknown_is_empty,
    rows_are_ascending_and_stay,
    rows_are_found_in_the_order_asked,
    presence_goes_by_order_in_any_order,
    leaving_wins_a_tie,
    joined_is_a_maximum,
    presence_is_in_the_users_row_too,
    copies_of_switches_are_a_union,
    copies_of_claimed_and_imported,
    facts_before_the_join_make_a_row_without_presence,
    one_call_may_change_a_member_twice,
    concurrent_changes_keep_the_greatest,
);

pub(super) fn join(uid: Uid, n: u64, joined: u64) -> MemberChange {
    MemberChange { uid, presence: Presence::new(order(n), true), joined: Some(seq(joined)) }
}

pub(super) fn leave(uid: Uid, n: u64) -> MemberChange {
    MemberChange { uid, presence: Presence::new(order(n), false), joined: None }
}

async fn member(s: &Subject, id: &ConversationId, uid: Uid) -> Member {
    let rows = s.store.members_of(id, &[uid]).await.unwrap();
    rows.into_iter().next().flatten().expect("the member has a row")
}

async fn unknown_is_empty(s: Subject) {
    let id = s.conversation("c");
    s.store.change_members(&id, &[]).await.unwrap();
    s.store.copy_switches(&id, s.uid(1), &UserSwitches::default()).await.unwrap();
    s.store.raise(s.uid(1), &id, &[]).await.unwrap();
    assert_eq!(s.store.members(&id).await.unwrap(), []);
    assert_eq!(s.store.members_of(&id, &[s.uid(1), s.uid(2)]).await.unwrap(), [None, None]);
    assert_eq!(s.store.members_of(&id, &[]).await.unwrap(), []);
    assert_eq!(s.store.user_conversation(s.uid(1), &id).await.unwrap(), None);
}

async fn rows_are_ascending_and_stay(s: Subject) {
    let id = s.conversation("c");
    let uids = [s.uid(300), s.uid(2), s.last_uid(), s.uid(256), s.uid(1)];
    let joins: Vec<_> = uids.iter().map(|uid| join(*uid, 10, 4)).collect();
    s.store.change_members(&id, &joins).await.unwrap();
    s.store.change_members(&id, &[leave(s.uid(2), 11)]).await.unwrap();
    let rows = s.store.members(&id).await.unwrap();
    let mut expected = uids.to_vec();
    expected.sort_unstable();
    assert_eq!(rows.iter().map(|row| row.uid).collect::<Vec<_>>(), expected);
    for row in rows {
        assert_eq!(row.is_present(), row.uid != s.uid(2), "{row:?}");
        assert_eq!(row.joined, seq(4), "leaving keeps joined");
    }
}

async fn rows_are_found_in_the_order_asked(s: Subject) {
    let (id, other) = (s.conversation("c"), s.conversation("d"));
    s.store.change_members(&id, &[join(s.uid(1), 1, 0), join(s.uid(3), 1, 0)]).await.unwrap();
    s.store.change_members(&other, &[join(s.uid(2), 1, 0)]).await.unwrap();
    let asked = [3, 2, 1, 3, 4].map(|n| s.uid(n));
    let rows = s.store.members_of(&id, &asked).await.unwrap();
    let found: Vec<Option<Uid>> = rows.into_iter().map(|row| row.map(|row| row.uid)).collect();
    assert_eq!(found, [Some(s.uid(3)), None, Some(s.uid(1)), Some(s.uid(3)), None]);
}

async fn presence_goes_by_order_in_any_order(s: Subject) {
    let uid = s.uid(1);
    let changes = [join(uid, 10, 0), leave(uid, 11), join(uid, 12, 30), leave(uid, 9)];
    for (n, sequence) in permutations(&changes).into_iter().enumerate() {
        let id = s.conversation(&format!("c{n}"));
        for change in &sequence {
            s.store.change_members(&id, &[*change]).await.unwrap();
        }
        let row = member(&s, &id, uid).await;
        assert_eq!(row.presence, Some(Presence::new(order(12), true)), "written in the order {sequence:?}");
        assert_eq!(row.joined, seq(30));
    }
}

async fn leaving_wins_a_tie(s: Subject) {
    let uid = s.uid(1);
    for (n, sequence) in permutations(&[join(uid, 10, 5), leave(uid, 10)]).into_iter().enumerate() {
        let id = s.conversation(&format!("c{n}"));
        for change in &sequence {
            s.store.change_members(&id, &[*change]).await.unwrap();
        }
        let row = member(&s, &id, uid).await;
        assert!(!row.is_present(), "written in the order {sequence:?}");
        assert_eq!(row.joined, seq(5), "the join happened all the same");
    }
}

async fn joined_is_a_maximum(s: Subject) {
    let (id, uid) = (s.conversation("c"), s.uid(1));
    for (n, joined, expected) in [(1, 5, 5), (3, 9, 9), (2, 7, 9), (4, 8, 9), (5, Seq::MAX, Seq::MAX)] {
        s.store.change_members(&id, &[join(uid, n, joined)]).await.unwrap();
        assert_eq!(member(&s, &id, uid).await.joined, seq(expected), "joined by order {n}");
        let of_user = s.store.user_conversation(uid, &id).await.unwrap().expect("the user's row");
        assert_eq!(of_user.joined, seq(expected), "joined by order {n}, in the user's row");
    }
}

async fn presence_is_in_the_users_row_too(s: Subject) {
    let (id, uid) = (s.conversation("c"), s.uid(1));
    for change in [join(uid, 10, 4), leave(uid, 12), join(uid, 11, 8)] {
        s.store.change_members(&id, &[change, join(s.uid(2), 1, 0)]).await.unwrap();
        let (row, of_user) = (member(&s, &id, uid).await, s.store.user_conversation(uid, &id).await.unwrap());
        let expected =
            UserConversation { presence: row.presence, joined: row.joined, ..UserConversation::default() };
        assert_eq!(of_user, Some(expected));
    }
    assert!(!member(&s, &id, uid).await.is_present());
}

async fn copies_of_switches_are_a_union(s: Subject) {
    let (id, uid) = (s.conversation("c"), s.uid(1));
    let all = [switch(1, 1, false), switch(2, 2, true), switch(2, 2, false), switch(5, 3, true)];
    s.store.change_members(&id, &[join(uid, 1, 0), join(s.uid(2), 1, 0)]).await.unwrap();
    for copied in [&all[2..3], &all[..2], &all[1..], &all[..1]] {
        s.store.copy_switches(&id, uid, &copied.iter().copied().collect()).await.unwrap();
    }
    let expected = Member {
        uid,
        presence: Some(Presence::new(order(1), true)),
        switches: all.into_iter().collect(),
        ..Member::default()
    };
    assert_eq!(member(&s, &id, uid).await, expected);
    assert!(member(&s, &id, s.uid(2)).await.switches.is_empty());
    assert!(s.store.user_switches(uid).await.unwrap().is_empty(), "a copy goes one way only");
}

async fn copies_of_claimed_and_imported(s: Subject) {
    let (id, uid) = (s.conversation("c"), s.uid(1));
    s.store.change_members(&id, &[join(uid, 1, 2)]).await.unwrap();
    let read = Raise::Read { seq: seq(50), read_at: at(9), endpoint: None };
    let raises = [
        (vec![Raise::Claimed(seq(40)), read], (40, 0)),
        (vec![Raise::Imported(seq(30))], (40, 30)),
        (vec![Raise::Claimed(seq(20)), Raise::Imported(seq(10))], (40, 30)),
        (vec![Raise::Receipted(seq(90)), Raise::Own(seq(91)), Raise::Cleared(seq(92))], (40, 30)),
        (vec![Raise::Imported(seq(31)), Raise::Claimed(seq(41))], (41, 31)),
    ];
    for (raises, (claimed, imported)) in raises {
        s.store.raise(uid, &id, &raises).await.unwrap();
        let row = member(&s, &id, uid).await;
        assert_eq!((row.claimed, row.imported), (seq(claimed), seq(imported)), "after {raises:?}");
        assert_eq!((row.joined, row.is_present()), (seq(2), true));
    }
}

async fn facts_before_the_join_make_a_row_without_presence(s: Subject) {
    let id = s.conversation("c");
    let off: UserSwitches = [switch(1, 1, false)].into_iter().collect();
    s.store.copy_switches(&id, s.uid(1), &off).await.unwrap();
    s.store.raise(s.uid(2), &id, &[Raise::Claimed(seq(3))]).await.unwrap();
    s.store.raise(s.uid(3), &id, &[Raise::Own(seq(3))]).await.unwrap();
    let rows = s.store.members(&id).await.unwrap();
    let with_switch = Member { uid: s.uid(1), switches: off, ..Member::default() };
    let with_claim = Member { uid: s.uid(2), claimed: seq(3), ..Member::default() };
    assert_eq!(rows, [with_switch, with_claim], "a register without copy makes no row of a member");
    s.store.change_members(&id, &[join(s.uid(1), 7, 5)]).await.unwrap();
    let row = member(&s, &id, s.uid(1)).await;
    assert_eq!((row.is_present(), row.joined, row.switches.iter().count()), (true, seq(5), 1));
}

async fn one_call_may_change_a_member_twice(s: Subject) {
    let (id, uid) = (s.conversation("c"), s.uid(1));
    s.store.change_members(&id, &[leave(uid, 6), join(uid, 5, 3), join(uid, 4, 9)]).await.unwrap();
    let row = member(&s, &id, uid).await;
    assert_eq!((row.presence, row.joined), (Some(Presence::new(order(6), false)), seq(9)));
}

async fn concurrent_changes_keep_the_greatest(s: Subject) {
    let (id, uid) = (s.conversation("c"), s.uid(1));
    at_once(16, |task| {
        let (s, id) = (s.clone(), id.clone());
        async move {
            for n in 0..20 {
                let order = (n * 7 % 20) * 16 + task;
                let change = if task % 2 == 0 { leave(uid, order) } else { join(uid, order, order) };
                s.store.change_members(&id, &[change, join(s.uid(100 + task), 1, 0)]).await.unwrap();
                s.store.raise(uid, &id, &[Raise::Claimed(seq(order + 1))]).await.unwrap();
            }
        }
    })
    .await;
    let greatest = 19 * 16 + 15;
    let row = member(&s, &id, uid).await;
    assert_eq!(row.presence, Some(Presence::new(order(greatest), true)));
    assert_eq!((row.joined, row.claimed), (seq(greatest), seq(greatest + 1)));
    assert_eq!(s.store.members(&id).await.unwrap().len(), 17);
}
