//! Unusual ids, in every table: ids that begin like others, of every length and script.

use super::member_store::join;
use super::read_array_store::add;
use super::subject::{RECALLED, SKIPPED, Subject, at, seq};
use crate::row::{Bucket, Conversation, Raise};
use readmark_domain::counting::MessageFlags;
use readmark_domain::id::{ConversationId, Seq};

super::cases!(ids_never_mix, longest_ids, neighbouring_uids_never_mix);

/// Writes a row of every table, with values that only `n` makes.
async fn write(s: &Subject, id: &ConversationId, n: u64) {
    s.store.raise_head(id, seq(n)).await.unwrap();
    s.store.raise_buckets(id, &[Bucket { bucket: n, newest_sent_at: at(n) }]).await.unwrap();
    s.store.write_messages(&[(s.message(id, n), s.far())]).await.unwrap();
    s.store.add_flags(id, &[(seq(n), flag(n))]).await.unwrap();
    s.store.add_mentions(id, seq(n), &[s.uid(1)]).await.unwrap();
    s.store.add_mention_all(id, seq(n + 1_000)).await.unwrap();
    s.store.add_readers(&[add(s, id, n, 2, s.uids(n, n + 9))]).await.unwrap();
    s.store.change_members(id, &[join(s.uid(n), n, n)]).await.unwrap();
    s.store.raise(s.uid(1), id, &[Raise::Own(seq(n))]).await.unwrap();
}

fn flag(n: u64) -> MessageFlags {
    if n.is_multiple_of(2) { RECALLED } else { SKIPPED }
}

/// Reads it back over the widest ranges: nothing of another id may be there.
async fn check(s: &Subject, id: &ConversationId, n: u64) {
    let expected = Conversation { head: seq(n), ..Conversation::default() };
    assert_eq!(s.store.conversation(id).await.unwrap(), Some(expected), "{id}");
    let buckets = [Bucket { bucket: n, newest_sent_at: at(n) }];
    assert_eq!(s.store.buckets(id, 0, Seq::LAST.bucket(), 1_000).await.unwrap(), buckets, "{id}");
    assert_eq!(s.store.newest_buckets(id, 1_000).await.unwrap(), buckets, "{id}");
    assert_eq!(s.store.messages(id, Seq::ZERO, seq(10_000)).await.unwrap(), [s.message(id, n)], "{id}");
    let flags = s.store.flags(id, Seq::ZERO, Seq::LAST, 1_000).await.unwrap();
    assert_eq!(flags, [(seq(n), flag(n))], "{id}");
    let mentions = s.store.mentions(s.uid(1), id, Seq::ZERO, Seq::LAST, 1_000).await.unwrap();
    assert_eq!(mentions, [seq(n), seq(n + 1_000)], "{id}");
    let arrays = s.store.read_arrays(id, &[seq(n), seq(n + 1)]).await.unwrap();
    assert_eq!(arrays[0].readers(), s.uids(n, n + 9), "{id}");
    assert!(arrays[1].is_empty(), "{id}");
    let members = s.store.members(id).await.unwrap();
    assert_eq!(members.iter().map(|row| row.uid).collect::<Vec<_>>(), [s.uid(n)], "{id}");
    let row = s.store.user_conversation(s.uid(1), id).await.unwrap();
    assert_eq!(row.expect("written").own, seq(n), "{id}");
}

async fn write_and_check(s: &Subject, names: &[String]) {
    let ids: Vec<ConversationId> = names.iter().map(|name| s.conversation(name)).collect();
    for (n, id) in (2..).step_by(3).zip(&ids) {
        write(s, id, n).await;
    }
    for (n, id) in (2..).step_by(3).zip(&ids) {
        check(s, id, n).await;
    }
    let listed = s.store.user_conversations(s.uid(1), None, 1_000).await.unwrap();
    let mut sorted = ids;
    sorted.sort_unstable();
    assert_eq!(listed.into_iter().map(|entry| entry.conversation_id).collect::<Vec<_>>(), sorted);
}

async fn ids_never_mix(s: Subject) {
    let names = [
        "c",
        "c1",
        "c10",
        "c100",
        "c1 ",
        "c1!",
        "C1",
        "c1/1",
        "c1:1",
        "c1%00",
        "c1'",
        "c1\"",
        "c1;--",
        "c1\\",
        "é",
        "e\u{301}",
        "中文",
        "中",
        "🦀",
        "🦀🦀",
        "\u{10ffff}",
        "c\u{10ffff}",
        "c\u{ffff}",
    ];
    write_and_check(&s, &names.map(str::to_owned)).await;
}

async fn longest_ids(s: Subject) {
    // Names are 6 bytes shorter than ids.
    let mut names: Vec<String> = [57, 58].map(|bytes| "x".repeat(bytes)).to_vec();
    names.push(format!("{}y", "x".repeat(57)));
    names.push("é".repeat(29));
    names.push(format!("{}\u{10ffff}", "x".repeat(54)));
    assert!(names.iter().any(|name| s.conversation(name).as_str().len() == 64));
    write_and_check(&s, &names).await;
}

async fn neighbouring_uids_never_mix(s: Subject) {
    let id = s.conversation("c");
    let uids =
        [s.uid(1), s.uid(2), s.uid(10), s.uid(255), s.uid(256), s.uid(257), s.uid(65_536), s.last_uid()];
    for (n, uid) in (1..).zip(uids) {
        s.store.raise(uid, &id, &[Raise::Own(seq(n))]).await.unwrap();
        s.store.add_mentions(&id, seq(n), &[uid]).await.unwrap();
        s.store.add_user_switch(uid, super::subject::switch(n, n, false)).await.unwrap();
    }
    for (n, uid) in (1..).zip(uids) {
        let listed = s.store.user_conversations(uid, None, 10).await.unwrap();
        assert_eq!(listed.iter().map(|entry| entry.registers.own).collect::<Vec<_>>(), [seq(n)], "{uid}");
        assert_eq!(s.store.mentions(uid, &id, Seq::ZERO, Seq::LAST, 10).await.unwrap(), [seq(n)], "{uid}");
        let switches = s.store.user_switches(uid).await.unwrap();
        assert_eq!(switches.iter().map(|switch| switch.order.get()).collect::<Vec<_>>(), [n], "{uid}");
    }
}
