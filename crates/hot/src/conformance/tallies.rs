use super::hands::{apply_tally, entries, id, rebuilt, seq, tally, tally_version, uid};
use super::subject::Subject;
use crate::port::TallyTold;
use readmark_domain::hot::{News, TALLIES_MAX, TallyChange};
use readmark_domain::id::{Seq, Uid};
use readmark_domain::register::ReceiptsMode;

super::cases!(
    only_what_is_new_is_told,
    entries_say_all_of_it,
    messages_are_kept_apart,
    versions_compare_as_numbers,
    about_a_thousand_messages_are_remembered,
);

/// RR-6, RR-8: a version not greater is dropped, one that says the same is kept and not told.
async fn only_what_is_new_is_told(s: Box<dyn Subject>) {
    let hot = s.hot();
    rebuilt(&*hot, uid(1), &[]).await;
    let mut newest = 0;
    for (change, appended) in [
        (tally(1, 50, 2, 9), 1),
        (tally(1, 50, 2, 9), 0),
        (tally(1, 40, 1, 9), 0),
        (tally(1, 60, 2, 9), 0),
        (tally(1, 55, 3, 9), 0),
        (tally(1, 70, 3, 9), 1),
        (tally(1, 80, 3, 8), 1),
        (TallyChange { mode: ReceiptsMode::Count, ..tally(1, 90, 3, 8) }, 1),
        (TallyChange { mode: ReceiptsMode::Count, ..tally(1, 90, 3, 8) }, 0),
    ] {
        let applied = apply_tally(&*hot, uid(1), change.clone()).await;
        newest += u64::from(appended);
        assert_eq!(
            (applied.appended, applied.version.get(), applied.to_count),
            (appended, newest, None),
            "{change:?}"
        );
    }
}

async fn entries_say_all_of_it(s: Box<dyn Subject>) {
    let hot = s.hot();
    let token = rebuilt(&*hot, uid(1), &[]).await;
    let change = TallyChange {
        conversation_id: id("é c"),
        seq: Seq::LAST,
        mode: ReceiptsMode::Off,
        read: u32::MAX,
        total: u32::MAX,
        readers_added: (0..500).map(uid).chain([uid(Uid::MAX)]).collect(),
        version: tally_version(u128::MAX),
    };
    apply_tally(&*hot, uid(1), change.clone()).await;
    let wanted = News::MessageRead {
        conversation_id: change.conversation_id,
        seq: change.seq,
        mode: change.mode,
        read: change.read,
        total: change.total,
        readers_added: change.readers_added,
        tally_version: change.version,
    };
    assert_eq!(entries(&*hot, uid(1), &token).await.remove(0).news, wanted);
}

async fn messages_are_kept_apart(s: Box<dyn Subject>) {
    let hot = s.hot();
    rebuilt(&*hot, uid(1), &[]).await;
    rebuilt(&*hot, uid(2), &[]).await;
    let first = tally(1, 5, 1, 2);
    for (uid, change) in [
        (uid(1), first.clone()),
        (uid(1), TallyChange { seq: seq(11), ..first.clone() }),
        (uid(1), TallyChange { conversation_id: id("c 1"), ..first.clone() }),
        (uid(1), TallyChange { conversation_id: id("c1"), ..first.clone() }),
        (uid(2), first.clone()),
    ] {
        assert_eq!(apply_tally(&*hot, uid, change.clone()).await.appended, 1, "{change:?}");
        assert_eq!(apply_tally(&*hot, uid, change.clone()).await.appended, 0, "{change:?}");
    }
}

async fn versions_compare_as_numbers(s: Box<dyn Subject>) {
    let hot = s.hot();
    rebuilt(&*hot, uid(1), &[]).await;
    let ascending = [
        0,
        1,
        0x7f,
        0x80,
        0xff,
        0x100,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        1 << 32,
        (1 << 32) + 0xff,
        0xff << 56,
        1 << 64,
        (0xff << 88) + 1,
        1 << 127,
        u128::MAX,
    ];
    for (n, version) in (1..).zip(ascending) {
        assert_eq!(apply_tally(&*hot, uid(1), tally(1, version, n, 99)).await.appended, 1, "{version:x}");
        for older in ascending.iter().take_while(|older| **older <= version) {
            let told = apply_tally(&*hot, uid(1), tally(1, *older, 50, 99)).await;
            assert_eq!(told.appended, 0, "{older:x} after {version:x}");
        }
    }
}

async fn about_a_thousand_messages_are_remembered(s: Box<dyn Subject>) {
    let hot = s.hot();
    rebuilt(&*hot, uid(1), &[]).await;
    let many = |first: u64, last: u64| {
        (first..=last).map(|n| TallyTold { uid: uid(1), change: tally(n, 5, 1, 2) }).collect::<Vec<_>>()
    };
    let appended = |answers: Vec<Result<Option<_>, _>>| {
        let one = |answer: Result<Option<readmark_domain::hot::Applied>, crate::HotError>| {
            u64::from(answer.expect("apply_tallies").expect("a state").appended)
        };
        answers.into_iter().map(one).sum::<u64>()
    };
    let last = TALLIES_MAX as u64 + 10;
    assert_eq!(appended(hot.apply_tallies(&many(1, last)).await), last);
    assert_eq!(appended(hot.apply_tallies(&many(11, last)).await), 0, "the newest are known");
    assert_eq!(appended(hot.apply_tallies(&many(1, 10)).await), 10, "forgotten, so told again");
}
