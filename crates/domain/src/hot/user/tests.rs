mod any_order;

use super::{Completed, Synced, User};
use crate::counting::TallyVersion;
use crate::hot::{
    Cause, Change, CountRange, Counted, Entry, Epoch, News, STREAM_ENTRIES, SyncToken, TALLIES_MAX,
    TallyChange, Version,
};
use crate::id::{ConversationId, Endpoint, Seq};
use crate::invariant::{Served, SyncWithoutGaps};
use crate::register::{Latest, Presence, ReceiptsMode};
use crate::seq_ranges::SeqRanges;
use crate::time::Order;

fn seq(n: u64) -> Seq {
    Seq::new_or_zero(n).unwrap()
}

fn latest(n: u64, value: bool) -> Latest {
    Latest { order: Order::new(n).unwrap(), value }
}

fn id(name: &str) -> ConversationId {
    ConversationId::new(name).unwrap()
}

fn present(head: u64, floor: u64) -> Change {
    Change {
        head: seq(head),
        floor: seq(floor),
        presence: Some(Presence::new(Order::new(1).unwrap(), true)),
        ..Change::default()
    }
}

fn read(read: u64) -> Change {
    let cause = Cause::Read(Endpoint::new("phone").ok());
    Change { read: seq(read), floor: seq(read), cause, ..Change::default() }
}

/// A user whose rebuild has ended, with these conversations.
fn user(conversations: &[(&str, Change)]) -> User {
    let mut user = User::new(Epoch::of_random(1));
    for (name, change) in conversations {
        user.apply(&id(name), change);
    }
    assert!(matches!(user.complete(&Epoch::of_random(1)), Completed::Complete(_)));
    user
}

fn all(user: &User) -> Vec<Entry> {
    let since = SyncToken { version: Version::ZERO, ..user.token() };
    match user.entries(&since, usize::MAX) {
        Synced::Entries { entries, more: false, .. } => entries,
        other @ (Synced::Entries { .. } | Synced::TooOld) => panic!("{other:?}"),
    }
}

fn json(user: &User) -> Vec<serde_json::Value> {
    all(user).iter().map(|entry| serde_json::to_value(entry).unwrap()).collect()
}

/// B2, C1, E18, R13, R28 and the entries of the contract, to the letter.
#[test]
fn entries_are_told_to_the_letter() {
    let mut user = user(&[("c1", present(12, 4)), ("c2", present(6, 2))]);
    user.apply(&id("c1"), &read(12));
    user.apply(&id("c1"), &Change { head: seq(13), ..Change::default() });
    user.apply(&id("c1"), &Change { marked_unread: Some(latest(7, true)), ..Change::default() });
    user.apply(&id("c1"), &Change { marked_unread: Some(latest(8, false)), ..read(12) });
    user.apply(&id("c2"), &Change { muted: Some(latest(7, true)), ..Change::default() });
    user.apply(&id("c1"), &Change { closed: Some(latest(7, true)), ..Change::default() });
    let wanted = serde_json::json!([
        {"version": "1", "kind": "conversation_read", "conversation_id": "c1", "read_seq": "12", "floor_seq": "12",
         "endpoint": "phone", "own": false, "unread": "0", "mentions": "0", "marked_unread": false,
         "total_unread": "4", "total_mentions": "0"},
        {"version": "2", "kind": "unread_changed", "conversation_id": "c1", "head_seq": "13", "floor_seq": "12",
         "unread": "1", "mentions": "0", "marked_unread": false, "muted": false, "total_unread": "5",
         "total_mentions": "0"},
        {"version": "3", "kind": "unread_changed", "conversation_id": "c1", "head_seq": "13", "floor_seq": "12",
         "unread": "1", "mentions": "0", "marked_unread": true, "muted": false, "total_unread": "5",
         "total_mentions": "0"},
        {"version": "4", "kind": "conversation_read", "conversation_id": "c1", "read_seq": "12", "floor_seq": "12",
         "endpoint": "phone", "own": false, "unread": "1", "mentions": "0", "marked_unread": false,
         "total_unread": "5", "total_mentions": "0"},
        {"version": "5", "kind": "unread_changed", "conversation_id": "c2", "head_seq": "6", "floor_seq": "2",
         "unread": "4", "mentions": "0", "marked_unread": false, "muted": true, "total_unread": "1",
         "total_mentions": "0"},
        {"version": "6", "kind": "unread_changed", "conversation_id": "c1", "head_seq": "13", "floor_seq": "12",
         "unread": "0", "mentions": "0", "marked_unread": false, "muted": false, "total_unread": "0",
         "total_mentions": "0"}
    ]);
    assert_eq!(serde_json::Value::from(json(&user)), wanted);
    for entry in all(&user) {
        let read: Entry = serde_json::from_str(&serde_json::to_string(&entry).unwrap()).unwrap();
        assert_eq!(read, entry);
    }
    let phone = Endpoint::new("phone").unwrap();
    let own = |device: Option<&Endpoint>| match all(&user).swap_remove(0).delivered_to(device).news {
        News::ConversationRead { own, .. } => own,
        other @ (News::UnreadChanged { .. } | News::MessageRead { .. }) => panic!("{other:?}"),
    };
    assert!(own(Some(&phone)) && !own(Endpoint::new("pc").ok().as_ref()) && !own(None));
}

/// I6: entries only where something changed; what is repeated or late changes nothing.
#[test]
fn nothing_new_appends_nothing() {
    let mut user = user(&[("c", present(7, 7))]);
    for change in [read(5), read(6), read(7), read(5), read(6), read(7), present(7, 7), present(3, 0)] {
        user.apply(&id("c"), &change);
    }
    assert_eq!(
        json(&user).iter().map(|entry| entry["read_seq"].clone()).collect::<Vec<_>>(),
        ["5", "6", "7"]
    );
    assert_eq!(user.apply(&id("c"), &read(7)).appended, 0);
}

/// A device that knows nothing of a row learns its mark too.
#[test]
fn a_row_that_opens_is_told_whole() {
    let mut user = user(&[]);
    let applied = user.apply(&id("c"), &Change { read: seq(3), ..present(9, 5) });
    assert_eq!((applied.appended, applied.version.get()), (2, 2));
    let entries = json(&user);
    assert_eq!((&entries[0]["kind"], &entries[0]["read_seq"]), (&"conversation_read".into(), &"3".into()));
    assert_eq!((&entries[1]["kind"], &entries[1]["head_seq"]), (&"unread_changed".into(), &"9".into()));
    assert_eq!(
        user.apply(&id("new"), &present(5, 5)).appended,
        1,
        "a new conversation without anything unread"
    );
    assert_eq!(
        user.apply(&id("gone"), &Change { head: seq(9), ..Change::default() }).appended,
        0,
        "no member"
    );
}

#[test]
fn a_rebuild_tells_nothing_and_ends_once_all_is_counted() {
    let epoch = Epoch::of_random(2);
    let mut user = User::new(epoch.clone());
    let many = SeqRanges::from_seqs((1..=65).map(seq));
    assert_eq!(user.apply(&id("c"), &present(100, 0).with_uncounted(&many)).appended, 0);
    let range = CountRange { floor: seq(0), head: seq(100) };
    assert_eq!(user.complete(&epoch), Completed::ToCount(vec![(id("c"), range)]));
    assert_eq!(user.complete(&Epoch::of_random(3)), Completed::Lost);
    let counted = Counted { range, uncounted: 65, mentions: 0, uncounted_mentions: 0 };
    user.apply(&id("c"), &Change::of_counted(counted, Cause::Other));
    let token = SyncToken { epoch: epoch.clone(), version: Version::ZERO };
    assert_eq!(user.complete(&epoch), Completed::Complete(token.clone()));
    assert_eq!(user.complete(&epoch), Completed::Complete(token));
    assert_eq!(user.picture(None).total.get(), 35);
}

fn tally(n: u64, version: u32, read: u32) -> TallyChange {
    TallyChange {
        conversation_id: id("c"),
        seq: seq(n),
        mode: ReceiptsMode::Full,
        read,
        total: 9,
        readers_added: Vec::new(),
        version: tally_version(version),
    }
}

fn tally_version(n: u32) -> TallyVersion {
    format!("{n:032x}").parse().unwrap()
}

/// RR-8: only a greater version counts, and only other counts are told.
#[test]
fn tallies_are_told_when_they_say_something_new() {
    let mut user = user(&[]);
    for (change, appended) in [
        (tally(1, 5, 2), 1),
        (tally(1, 5, 2), 0),
        (tally(1, 4, 1), 0),
        (tally(1, 6, 2), 0),
        (tally(1, 5, 3), 0),
        (tally(1, 7, 3), 1),
        (TallyChange { mode: ReceiptsMode::Count, ..tally(1, 8, 3) }, 1),
    ] {
        assert_eq!(user.apply_tally(&change).appended, appended, "{change:?}");
    }
    for n in 2..=TALLIES_MAX as u64 + 1 {
        assert_eq!(user.apply_tally(&tally(n, 5, 2)).appended, 1);
    }
    assert_eq!(user.apply_tally(&tally(2, 5, 2)).appended, 0, "among the newest {TALLIES_MAX}");
    assert_eq!(user.apply_tally(&tally(1, 8, 3)).appended, 1, "forgotten, so told again");
}

/// RR-9.
#[test]
fn whoever_is_too_far_behind_gets_a_snapshot() {
    let mut user = user(&[("c", present(0, 0))]);
    for n in 1..=STREAM_ENTRIES as u64 + 5 {
        user.apply(&id("c"), &Change { head: seq(n), ..Change::default() });
    }
    let newest = user.token().version.get();
    for (since, limit) in
        [(0, 10), (4, 10), (5, 10), (5, 2_000), (newest - 1, 10), (newest, 10), (newest + 1, 10)]
    {
        let token = SyncToken { version: Version::new(since).unwrap(), ..user.token() };
        let check = |served: Served<'_>| {
            SyncWithoutGaps { same_epoch: true, since, oldest_kept: 6, served }.check().unwrap();
        };
        match user.entries(&token, limit) {
            Synced::TooOld => {
                assert!(since < 5 || since > newest, "{since}");
                check(Served::Snapshot);
            }
            Synced::Entries { entries, token, more } => {
                let versions: Vec<u64> = entries.iter().map(|entry| entry.version.get()).collect();
                check(Served::Entries(&versions));
                assert_eq!(token.version.get(), (since + limit as u64).min(newest));
                assert_eq!(more, token.version.get() < newest);
            }
        }
    }
    let other = SyncToken { epoch: Epoch::of_random(7), ..user.token() };
    assert_eq!(user.entries(&other, 10), Synced::TooOld);
}
