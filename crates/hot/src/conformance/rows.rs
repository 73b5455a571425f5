use super::hands::{
    apply, closed, counts, entries, head, id, latest, left, marked, member, mentions, muted, picture, read,
    rebuilt, seq, totals, uid, uncounted,
};
use super::subject::Subject;
use crate::port::Held;
use readmark_domain::hot::{Change, News};
use readmark_domain::id::{ConversationId, Endpoint, Seq};
use readmark_domain::time::TimeMs;
use std::sync::Arc;

super::cases!(
    the_red_dot,
    what_is_read_on_one_device_is_told_to_all,
    a_flag_by_hand_goes_with_a_read,
    totals_are_sums_of_what_is_seen,
    who_leaves_or_finds_it_closed_sees_nothing,
    opened_again_the_computed_number_comes_back,
    a_repetition_changes_nothing,
    rows_by_name,
    order_by_time_and_size_are_kept,
    unusual_names,
    the_greatest_numbers,
);

/// Scenarios by the changes that come after a rebuild: unread and mentions.
async fn the_red_dot(s: Box<dyn Subject>) {
    let hot = s.hot();
    for (n, (name, changes, wanted)) in (1..).zip([
        ("C1: two messages, one recalled", vec![head(2), uncounted(2, 2)], (1, 0)),
        (
            "C2: marked 4; 5 recalled; marked 5",
            vec![read(4, "a"), head(5), uncounted(5, 5), read(5, "a")],
            (0, 0),
        ),
        ("C5: two mentions, one recalled", vec![mentions(1, 2), head(2), uncounted(2, 2)], (1, 1)),
        ("C11: cleared at 20, then 21", vec![head(20), read(20, "a"), head(21)], (1, 0)),
        ("C13: the recall comes first", vec![uncounted(5, 5), read(4, "a"), head(5)], (0, 0)),
        ("D10: never connected", vec![head(25)], (25, 0)),
        (
            "E6: marks one by one, shuffled",
            vec![head(5), read(3, "a"), read(5, "b"), read(1, "a"), read(4, "c")],
            (0, 0),
        ),
        ("R14: 4…6 skipped", vec![head(10), uncounted(4, 6), read(3, "a")], (4, 0)),
        ("S9: five unread, two recalled", vec![head(5), uncounted(2, 2), uncounted(4, 4)], (3, 0)),
        ("S14", vec![head(1_000), read(10, "a")], (990, 0)),
        ("a mark that overtook the head", vec![read(9, "a"), head(5)], (0, 0)),
    ]) {
        rebuilt(&*hot, uid(n), &[("c", member(0, 0))]).await;
        for change in changes {
            assert_eq!(apply(&*hot, uid(n), "c", change).await.to_count, None, "{name}");
        }
        assert_eq!(counts(&*hot, uid(n)).await, [wanted], "{name}");
        assert_eq!(totals(&*hot, uid(n)).await, wanted, "{name}");
    }
}

/// B2, I6.
async fn what_is_read_on_one_device_is_told_to_all(s: Box<dyn Subject>) {
    let hot = s.hot();
    let token = rebuilt(&*hot, uid(1), &[("c", member(9, 4))]).await;
    for (read_seq, appended) in [(6, 1), (5, 0), (6, 0), (9, 1), (7, 0)] {
        assert_eq!(apply(&*hot, uid(1), "c", read(read_seq, "phone")).await.appended, appended, "{read_seq}");
    }
    let told: Vec<_> = entries(&*hot, uid(1), &token).await.into_iter().map(|entry| entry.news).collect();
    let wanted = |read_seq, unread: u64| News::ConversationRead {
        conversation_id: id("c"),
        read_seq: seq(read_seq),
        floor_seq: seq(read_seq),
        endpoint: Endpoint::new("phone").ok(),
        own: false,
        unread: unread.to_string().parse().unwrap(),
        mentions: "0".parse().unwrap(),
        marked_unread: false,
        total_unread: unread.to_string().parse().unwrap(),
        total_mentions: "0".parse().unwrap(),
    };
    assert_eq!(told, [wanted(6, 3), wanted(9, 0)]);
}

/// R13.
async fn a_flag_by_hand_goes_with_a_read(s: Box<dyn Subject>) {
    let hot = s.hot();
    rebuilt(&*hot, uid(1), &[("c", member(9, 9))]).await;
    assert_eq!(apply(&*hot, uid(1), "c", marked(5, true)).await.appended, 1);
    assert!(picture(&*hot, uid(1)).await.rows[0].row.marked_unread);
    let again = Change { marked_unread: Some(latest(6, false)), ..read(9, "pc") };
    assert_eq!(apply(&*hot, uid(1), "c", again).await.appended, 1);
    assert_eq!(apply(&*hot, uid(1), "c", marked(5, true)).await.appended, 0, "late");
    assert!(!picture(&*hot, uid(1)).await.rows[0].row.marked_unread);
}

/// E18.
async fn totals_are_sums_of_what_is_seen(s: Box<dyn Subject>) {
    let hot = s.hot();
    let rows = [("c1", member(3, 0)), ("c2", member(1, 0)), ("c3", member(7, 0))];
    let token = rebuilt(&*hot, uid(1), &rows).await;
    assert_eq!(totals(&*hot, uid(1)).await, (11, 0));
    apply(&*hot, uid(1), "c3", muted(5, true)).await;
    apply(&*hot, uid(1), "c2", Change { head: seq(2), ..mentions(2, 2) }).await;
    let told = entries(&*hot, uid(1), &token).await;
    let News::UnreadChanged { total_unread, total_mentions, unread, .. } = &told[1].news else {
        panic!("{told:?}")
    };
    assert_eq!((total_unread.get(), total_mentions.get(), unread.get()), (5, 1, 2));
    apply(&*hot, uid(1), "c3", muted(6, false)).await;
    assert_eq!(totals(&*hot, uid(1)).await, (12, 1));
}

/// D7.
async fn who_leaves_or_finds_it_closed_sees_nothing(s: Box<dyn Subject>) {
    let hot = s.hot();
    let token = rebuilt(&*hot, uid(1), &[("c", member(5, 0)), ("d", member(2, 0))]).await;
    assert_eq!(apply(&*hot, uid(1), "c", left(5)).await.appended, 1);
    assert_eq!(totals(&*hot, uid(1)).await, (2, 0));
    assert_eq!(apply(&*hot, uid(1), "c", read(5, "a")).await.appended, 0, "nobody sees it");
    assert_eq!(apply(&*hot, uid(1), "d", closed(5, true)).await.appended, 1);
    assert!(picture(&*hot, uid(1)).await.rows.is_empty());
    assert_eq!(totals(&*hot, uid(1)).await, (0, 0));
    for entry in entries(&*hot, uid(1), &token).await {
        let News::UnreadChanged { unread, .. } = entry.news else { panic!("{entry:?}") };
        assert_eq!(unread.get(), 0);
    }
}

/// R28; a device that lost the row learns its mark again.
async fn opened_again_the_computed_number_comes_back(s: Box<dyn Subject>) {
    let hot = s.hot();
    let token = rebuilt(&*hot, uid(1), &[("c", Change { read: seq(3), ..member(5, 3) })]).await;
    apply(&*hot, uid(1), "c", closed(5, true)).await;
    apply(&*hot, uid(1), "c", head(6)).await;
    let opened = apply(&*hot, uid(1), "c", closed(6, false)).await;
    assert_eq!((opened.appended, opened.version.get()), (2, 3));
    assert_eq!(counts(&*hot, uid(1)).await, [(3, 0)]);
    let kinds: Vec<bool> = entries(&*hot, uid(1), &token)
        .await
        .into_iter()
        .map(|entry| matches!(entry.news, News::ConversationRead { .. }))
        .collect();
    assert_eq!(kinds, [false, true, false]);
}

/// L3, RR-6: the same again, in any order, is the same version.
async fn a_repetition_changes_nothing(s: Box<dyn Subject>) {
    let hot = s.hot();
    rebuilt(&*hot, uid(1), &[("c", member(9, 2))]).await;
    let changes = [
        head(12),
        read(5, "a"),
        uncounted(7, 8),
        mentions(9, 12),
        marked(3, true),
        muted(3, true),
        closed(2, false),
    ];
    for change in &changes {
        apply(&*hot, uid(1), "c", change.clone()).await;
    }
    let before = picture(&*hot, uid(1)).await;
    for change in changes.iter().rev() {
        let again = apply(&*hot, uid(1), "c", change.clone()).await;
        assert_eq!((again.version, again.appended), (before.token.version, 0), "{change:?}");
    }
    assert_eq!(picture(&*hot, uid(1)).await, before);
}

async fn rows_by_name(s: Box<dyn Subject>) {
    let hot = s.hot();
    rebuilt(&*hot, uid(1), &[("a", member(1, 0)), ("b", member(2, 0)), ("c", member(3, 0))]).await;
    let named = |names: &[&str]| {
        let (ids, hot) = (names.iter().map(|name| id(name)).collect::<Vec<_>>(), Arc::clone(&hot));
        async move {
            let held = hot.picture(uid(1), Some(&ids)).await.expect("picture");
            let Held::Complete(picture) = held else { panic!("{held:?}") };
            assert_eq!(picture.total.get(), 6, "the total is over all");
            picture.rows.into_iter().map(|row| row.conversation_id.as_str().to_owned()).collect::<Vec<_>>()
        }
    };
    assert_eq!(named(&["c", "a", "x", "a"]).await, ["a", "c"]);
    assert!(named(&["x"]).await.is_empty());
    assert!(named(&[]).await.is_empty());
    let many: Vec<String> = (0..3_000).map(|n| format!("x{n}")).chain(["b".to_owned()]).collect();
    assert_eq!(named(&many.iter().map(String::as_str).collect::<Vec<_>>()).await, ["b"]);
}

async fn order_by_time_and_size_are_kept(s: Box<dyn Subject>) {
    let hot = s.hot();
    let at = |ms| TimeMs::new(ms).unwrap();
    let sent = |n, ms| Change { newest_sent_at: at(ms), ..head(n) };
    rebuilt(&*hot, uid(1), &[("c", Change { newest_sent_at: at(1_780_000_000_000), ..member(1, 0) })]).await;
    apply(&*hot, uid(1), "c", sent(2, 1_780_000_000_001)).await;
    assert_eq!(apply(&*hot, uid(1), "c", sent(1, 5)).await.appended, 0);
    let quiet = Change { is_large: true, ..Change::default() };
    assert_eq!(apply(&*hot, uid(1), "c", quiet).await.appended, 0, "no device sees it");
    let row = picture(&*hot, uid(1)).await.rows.remove(0);
    assert_eq!((row.newest_sent_at, row.is_large), (at(1_780_000_000_001), true));
}

async fn unusual_names(s: Box<dyn Subject>) {
    let hot = s.hot();
    let longest = "é".repeat(32);
    let names = ["{7}", "a:b", " ", "*", "\u{10ffff}", "0", longest.as_str()];
    let last = uid(readmark_domain::id::Uid::MAX);
    for uid in [uid(0), last] {
        let rows: Vec<(&str, Change)> = names.iter().map(|name| (*name, member(3, 0))).collect();
        let token = rebuilt(&*hot, uid, &rows).await;
        for name in names {
            let device = "ü".repeat(32);
            apply(&*hot, uid, name, read(1, &device)).await;
        }
        let mut wanted: Vec<ConversationId> = names.iter().map(|name| id(name)).collect();
        let told: Vec<ConversationId> = entries(&*hot, uid, &token)
            .await
            .into_iter()
            .map(|entry| match entry.news {
                News::ConversationRead { conversation_id, endpoint: Some(_), .. } => conversation_id,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(told, wanted);
        wanted.sort();
        let rows = picture(&*hot, uid).await.rows;
        assert_eq!(rows.into_iter().map(|row| row.conversation_id).collect::<Vec<_>>(), wanted);
    }
}

/// Every number is exact up to the greatest seq, and totals beyond what a script's numbers hold.
async fn the_greatest_numbers(s: Box<dyn Subject>) {
    let hot = s.hot();
    let names: Vec<String> = (0..20).map(|n| format!("c{n}")).collect();
    let rows: Vec<(&str, Change)> = names.iter().map(|name| (name.as_str(), member(Seq::MAX, 0))).collect();
    let token = rebuilt(&*hot, uid(1), &rows).await;
    assert_eq!(totals(&*hot, uid(1)).await, (20 * Seq::MAX, 0));
    apply(&*hot, uid(1), "c0", read(Seq::MAX - 1, "a")).await;
    apply(&*hot, uid(1), "c1", uncounted(Seq::MAX, Seq::MAX)).await;
    apply(&*hot, uid(1), "c2", mentions(Seq::MAX - 2, Seq::MAX)).await;
    let wanted = (19 * Seq::MAX, 3);
    assert_eq!(totals(&*hot, uid(1)).await, wanted);
    let told = entries(&*hot, uid(1), &token).await;
    let News::UnreadChanged { head_seq, total_unread, total_mentions, .. } = &told[2].news else {
        panic!("{told:?}")
    };
    assert_eq!((total_unread.get(), total_mentions.get(), *head_seq), (wanted.0, wanted.1, Seq::LAST));
    for name in &names {
        apply(&*hot, uid(1), name, left(readmark_domain::time::Order::MAX)).await;
    }
    assert_eq!(totals(&*hot, uid(1)).await, (0, 0));
}
