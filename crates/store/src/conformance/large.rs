//! Large conversations: every read gives all there is, whatever the adapter's own pages are.

use super::member_store::join;
use super::read_array_store::{add, readers};
use super::subject::{SKIPPED, Subject, seq};
use crate::row::Raise;
use readmark_domain::id::Seq;

super::cases!(
    members_20_000,
    readers_20_000_in_40_chunks,
    flags_5_000,
    messages_of_40_buckets,
    conversations_of_a_user_3_000,
);

async fn members_20_000(s: Subject) {
    let id = s.conversation("c");
    let uids = s.uids(1, 20_000);
    for batch in uids.chunks(1_000) {
        let joins: Vec<_> = batch.iter().map(|uid| join(*uid, uid.get() % 100, 1)).collect();
        s.store.change_members(&id, &joins).await.unwrap();
    }
    let rows = s.store.members(&id).await.unwrap();
    assert!(rows.iter().map(|row| row.uid).eq(uids.iter().copied()), "{} of 20,000 rows", rows.len());
    assert!(rows.iter().all(|row| row.is_present() && row.joined == seq(1)));
    let found = s.store.members_of(&id, &uids[5_000..6_000]).await.unwrap();
    assert!(found.iter().flatten().map(|row| row.uid).eq(uids[5_000..6_000].iter().copied()));
}

async fn readers_20_000_in_40_chunks(s: Subject) {
    let id = s.conversation("c");
    for batch in s.uids(1, 20_000).chunks(1_000) {
        s.store.add_readers(&[add(&s, &id, 1, 40, batch.to_vec())]).await.unwrap();
    }
    assert!(readers(&s, &id, 1).await == s.uids(1, 20_000), "the set differs");
}

async fn flags_5_000(s: Subject) {
    let id = s.conversation("c");
    let all: Vec<_> = (1..=5_000).map(|n| (seq(n * 20), SKIPPED)).collect();
    for batch in all.chunks(500) {
        s.store.add_flags(&id, batch).await.unwrap();
    }
    assert!(s.store.flags(&id, Seq::ZERO, Seq::LAST, 10_000).await.unwrap() == all, "the flags differ");
    assert!(s.store.flags(&id, seq(20), Seq::LAST, 4_096).await.unwrap() == all[..4_096], "the page differs");
}

async fn messages_of_40_buckets(s: Subject) {
    let id = s.conversation("c");
    let all: Vec<_> = (1..=5_000).map(|n| s.message(&id, n)).collect();
    for batch in all.chunks(500) {
        let written: Vec<_> = batch.iter().map(|message| (message.clone(), s.far())).collect();
        s.store.write_messages(&written).await.unwrap();
    }
    assert!(s.store.messages(&id, seq(1), seq(5_000)).await.unwrap() == all, "the messages differ");
}

async fn conversations_of_a_user_3_000(s: Subject) {
    let uid = s.uid(1);
    for n in 0..3_000 {
        s.store.raise(uid, &s.conversation(&format!("c{n:04}")), &[Raise::Own(seq(n + 1))]).await.unwrap();
    }
    let all = s.store.user_conversations(uid, None, 10_000).await.unwrap();
    assert!(all.iter().map(|entry| entry.registers.own.get()).eq(1..=3_000), "{} of 3,000 rows", all.len());
}
