use super::hands::{
    apply, begin, closed, complete, counted, counts, entries, head, id, member, mentions, picture, range,
    read, rebuilt, uid, uncounted,
};
use super::subject::Subject;
use crate::port::HotState;
use readmark_domain::hot::{Change, Completed, News};

super::cases!(
    a_hundred_recalls_while_marks_rise,
    numbers_are_of_one_range,
    a_row_stands_still_until_it_is_counted,
    a_recall_below_what_was_counted_is_counted_again,
    mentions_are_counted_alike,
    a_skip_above_the_head,
    a_rebuild_may_bring_numbers,
    a_rebuild_ends_once_all_is_counted,
    nobody_counts_what_nobody_sees,
);

/// R33, as a store would answer that has all recalls from the beginning.
async fn a_hundred_recalls_while_marks_rise(s: Box<dyn Subject>) {
    let hot = s.hot();
    rebuilt(&*hot, uid(1), &[("c", member(300, 0))]).await;
    let recalled = |floor: u64| (101..=200).filter(|n| *n > floor).count() as u64;
    for n in 101..=200 {
        for change in [uncounted(n, n), read(n - 60, "a")] {
            let mut applied = apply(&*hot, uid(1), "c", change).await;
            while let Some(range) = applied.to_count {
                let (floor, head) = (range.floor.get(), range.head.get());
                applied = apply(&*hot, uid(1), "c", counted(floor, head, [recalled(floor), 0, 0])).await;
            }
        }
    }
    assert_eq!(counts(&*hot, uid(1)).await, [(160 - recalled(140), 0)]);
}

async fn overflown(hot: &dyn HotState) {
    rebuilt(hot, uid(1), &[("c", member(200, 0))]).await;
    let applied = apply(hot, uid(1), "c", uncounted(1, 65)).await;
    assert_eq!(applied.to_count, Some(range(0, 200)));
}

async fn numbers_are_of_one_range(s: Box<dyn Subject>) {
    let hot = s.hot();
    overflown(&*hot).await;
    for refused in [(0, 199), (1, 200), (0, 201)] {
        let applied = apply(&*hot, uid(1), "c", counted(refused.0, refused.1, [65, 0, 0])).await;
        assert_eq!((applied.to_count, applied.appended), (Some(range(0, 200)), 0), "{refused:?}");
    }
    for (n, asked_again, unread) in [(64, true, 136), (65, true, 135), (64, false, 135), (65, false, 135)] {
        let applied = apply(&*hot, uid(1), "c", counted(0, 200, [n, 0, 0])).await;
        assert_eq!(applied.to_count.is_some(), asked_again, "{n}");
        assert_eq!(counts(&*hot, uid(1)).await, [(unread, 0)]);
    }
    // Above what was counted, seqs are kept again.
    apply(&*hot, uid(1), "c", head(203)).await;
    assert_eq!(apply(&*hot, uid(1), "c", uncounted(202, 202)).await.to_count, None);
    assert_eq!(counts(&*hot, uid(1)).await, [(137, 0)]);
    assert_eq!(apply(&*hot, uid(1), "c", read(201, "a")).await.to_count, None);
    assert_eq!(counts(&*hot, uid(1)).await, [(1, 0)]);
}

/// Late, never wrong; and the entry that ends it says why.
async fn a_row_stands_still_until_it_is_counted(s: Box<dyn Subject>) {
    let hot = s.hot();
    overflown(&*hot).await;
    let row = picture(&*hot, uid(1)).await.rows.remove(0);
    assert_eq!((row.row.unread.get(), row.to_count), (200, Some(range(0, 200))));
    apply(&*hot, uid(1), "c", counted(0, 200, [65, 0, 0])).await;
    let token = picture(&*hot, uid(1)).await.token;
    let moved = apply(&*hot, uid(1), "c", read(10, "phone")).await;
    assert_eq!((moved.to_count, moved.appended), (Some(range(10, 200)), 0));
    apply(&*hot, uid(1), "c", head(201)).await;
    assert_eq!(counts(&*hot, uid(1)).await, [(135, 0)]);
    let told = Change { cause: read(10, "phone").cause, ..counted(10, 200, [55, 0, 0]) };
    assert_eq!(apply(&*hot, uid(1), "c", told).await.appended, 2, "a mark and a head");
    let told = entries(&*hot, uid(1), &token).await;
    let News::ConversationRead { endpoint, unread, .. } = &told[0].news else { panic!("{told:?}") };
    assert_eq!((endpoint.as_ref().map(|device| device.as_str()), unread.get()), (Some("phone"), 136));
    assert_eq!(picture(&*hot, uid(1)).await.rows[0].to_count, None);
}

async fn a_recall_below_what_was_counted_is_counted_again(s: Box<dyn Subject>) {
    let hot = s.hot();
    overflown(&*hot).await;
    apply(&*hot, uid(1), "c", counted(0, 200, [65, 0, 0])).await;
    let recalled = apply(&*hot, uid(1), "c", uncounted(70, 70)).await;
    assert_eq!((recalled.to_count, recalled.appended), (Some(range(0, 200)), 0));
    assert_eq!(apply(&*hot, uid(1), "c", counted(0, 200, [66, 0, 0])).await.appended, 1);
    assert_eq!(apply(&*hot, uid(1), "c", counted(0, 200, [66, 0, 0])).await.to_count, None);
    assert_eq!(counts(&*hot, uid(1)).await, [(134, 0)]);
}

async fn mentions_are_counted_alike(s: Box<dyn Subject>) {
    let hot = s.hot();
    rebuilt(&*hot, uid(1), &[("c", member(100, 0))]).await;
    assert_eq!(apply(&*hot, uid(1), "c", mentions(1, 70)).await.to_count, Some(range(0, 100)));
    apply(&*hot, uid(1), "c", counted(0, 100, [10, 70, 4])).await;
    assert_eq!(counts(&*hot, uid(1)).await, [(90, 66)]);
    let more = Change { head: head(102).head, ..mentions(101, 102) };
    assert_eq!(apply(&*hot, uid(1), "c", more).await.to_count, None);
    assert_eq!(counts(&*hot, uid(1)).await, [(92, 68)]);
}

async fn a_skip_above_the_head(s: Box<dyn Subject>) {
    let hot = s.hot();
    rebuilt(&*hot, uid(1), &[("c", member(10, 10))]).await;
    assert_eq!(apply(&*hot, uid(1), "c", uncounted(11, 65_546)).await.to_count, None);
    let passed = apply(&*hot, uid(1), "c", head(65_547)).await;
    assert_eq!((passed.to_count, passed.appended), (Some(range(10, 65_547)), 0));
    apply(&*hot, uid(1), "c", counted(10, 65_547, [65_536, 0, 0])).await;
    assert_eq!(counts(&*hot, uid(1)).await, [(1, 0)]);
}

fn whole(floor: u64, head: u64, uncounted: u64) -> Change {
    let counted = counted(floor, head, [uncounted, 0, 0]).counted.expect("numbers");
    member(head, floor).with_counted_only(counted)
}

async fn a_rebuild_may_bring_numbers(s: Box<dyn Subject>) {
    let hot = s.hot();
    rebuilt(&*hot, uid(1), &[("c", whole(5, 300, 100))]).await;
    assert_eq!(counts(&*hot, uid(1)).await, [(195, 0)]);
}

async fn a_rebuild_ends_once_all_is_counted(s: Box<dyn Subject>) {
    let hot = s.hot();
    let epoch = begin(&*hot, uid(1)).await;
    // A mark came in first: what the store counted is of another range.
    for name in ["c", "d"] {
        apply(&*hot, uid(1), name, read(20, "a")).await;
        assert_eq!(apply(&*hot, uid(1), name, whole(5, 300, 100)).await.to_count, Some(range(20, 300)));
    }
    let Completed::ToCount(mut to_count) = hot.complete_rebuild(uid(1), &epoch).await.expect("complete")
    else {
        panic!("nothing to count")
    };
    to_count.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(to_count, [(id("c"), range(20, 300)), (id("d"), range(20, 300))]);
    for name in ["c", "d"] {
        apply(&*hot, uid(1), name, counted(20, 300, [90, 0, 0])).await;
    }
    complete(&*hot, uid(1), &epoch).await;
    assert_eq!(counts(&*hot, uid(1)).await, [(190, 0), (190, 0)]);
}

async fn nobody_counts_what_nobody_sees(s: Box<dyn Subject>) {
    let hot = s.hot();
    overflown(&*hot).await;
    apply(&*hot, uid(1), "c", counted(0, 200, [65, 0, 0])).await;
    apply(&*hot, uid(1), "c", closed(5, true)).await;
    assert_eq!(apply(&*hot, uid(1), "c", uncounted(70, 70)).await.to_count, None);
    let opened = apply(&*hot, uid(1), "c", closed(6, false)).await;
    assert_eq!((opened.to_count, opened.appended), (Some(range(0, 200)), 0));
    apply(&*hot, uid(1), "c", counted(0, 200, [66, 0, 0])).await;
    assert_eq!(counts(&*hot, uid(1)).await, [(134, 0)]);
}
