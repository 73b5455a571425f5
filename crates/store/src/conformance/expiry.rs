//! What expires, when, and what never does. Margins allow a store that keeps whole seconds.

use super::member_store::join;
use super::read_array_store::{add, readers};
use super::subject::{RECALLED, Subject, at, latest, seq};
use crate::row::{Bucket, Raise, ReadArrayAdd};
use readmark_domain::counting::Message;
use readmark_domain::id::{MsgId, Seq};

super::cases!(
    a_message_expires_and_takes_its_readers_along,
    what_has_expired_is_not_written,
    nothing_else_expires,
    neighbours_expire_on_their_own,
    a_repeat_keeps_the_expiry,
    an_expired_message_may_be_written_anew,
);

/// Life of a message in these cases.
const LIFE_MS: u64 = 4_000;
/// After this much more than its life a message is gone.
const MARGIN_MS: u64 = 2_000;
/// Readers live on for a minute.
const MINUTE_MS: u64 = 60_000;

fn short_add(s: &Subject, n: u64, first: u64, last: u64) -> ReadArrayAdd {
    let expires_at = s.clock.now().plus_ms(LIFE_MS);
    ReadArrayAdd { message_expires_at: expires_at, ..add(s, &s.conversation("c"), n, 2, s.uids(first, last)) }
}

async fn seqs(s: &Subject) -> Vec<Seq> {
    let messages = s.store.messages(&s.conversation("c"), Seq::ZERO, seq(1_000)).await.unwrap();
    messages.iter().map(|message| message.seq).collect()
}

async fn a_message_expires_and_takes_its_readers_along(s: Subject) {
    let id = s.conversation("c");
    let expires_at = s.clock.now().plus_ms(LIFE_MS);
    s.store.write_messages(&[(s.message(&id, 1), expires_at)]).await.unwrap();
    s.store.add_readers(&[short_add(&s, 1, 1, 50)]).await.unwrap();
    assert_eq!((seqs(&s).await, readers(&s, &id, 1).await), (vec![seq(1)], s.uids(1, 50)));
    s.clock.advance_ms(LIFE_MS + MARGIN_MS).await;
    assert_eq!(seqs(&s).await, [], "the message is gone");
    assert_eq!(readers(&s, &id, 1).await, s.uids(1, 50), "readers never go before their message");
    s.clock.advance_ms(MINUTE_MS + MARGIN_MS).await;
    assert_eq!(readers(&s, &id, 1).await, [], "readers are gone a minute later");
}

async fn what_has_expired_is_not_written(s: Subject) {
    let id = s.conversation("c");
    let now = s.clock.now();
    let long_ago = now.minus_ms(2 * MINUTE_MS);
    s.store
        .write_messages(&[
            (s.message(&id, 1), now),
            (s.message(&id, 2), long_ago),
            (s.message(&id, 3), s.far()),
        ])
        .await
        .unwrap();
    assert_eq!(seqs(&s).await, [seq(3)]);
    let expired = ReadArrayAdd { message_expires_at: long_ago, ..add(&s, &id, 2, 1, s.uids(1, 3)) };
    s.store.add_readers(&[expired, add(&s, &id, 3, 1, s.uids(4, 5))]).await.unwrap();
    assert_eq!(readers(&s, &id, 2).await, []);
    assert_eq!(readers(&s, &id, 3).await, s.uids(4, 5), "the rest of the call is written");
}

async fn nothing_else_expires(s: Subject) {
    let (id, uid) = (s.conversation("c"), s.uid(1));
    let expires_at = s.clock.now().plus_ms(LIFE_MS);
    let bucket = Bucket { bucket: 0, newest_sent_at: at(5) };
    s.store.raise_buckets(&id, &[bucket]).await.unwrap();
    s.store.write_messages(&[(s.message(&id, 1), expires_at)]).await.unwrap();
    s.store.add_readers(&[short_add(&s, 1, 1, 2)]).await.unwrap();
    s.store.add_flags(&id, &[(seq(1), RECALLED)]).await.unwrap();
    s.store.add_mentions(&id, seq(1), &[uid]).await.unwrap();
    s.store.add_mention_all(&id, seq(2)).await.unwrap();
    s.store.raise_head(&id, seq(1)).await.unwrap();
    s.store.change_members(&id, &[join(uid, 1, 0)]).await.unwrap();
    s.store.raise(uid, &id, &[Raise::Claimed(seq(1)), Raise::Muted(latest(1, true))]).await.unwrap();
    let everything = async || {
        (
            s.store.conversation(&id).await.unwrap().expect("known"),
            s.store.newest_buckets(&id, 10).await.unwrap(),
            s.store.flags(&id, Seq::ZERO, Seq::LAST, 10).await.unwrap(),
            s.store.mentions(uid, &id, Seq::ZERO, Seq::LAST, 10).await.unwrap(),
            s.store.members(&id).await.unwrap(),
            s.store.user_conversation(uid, &id).await.unwrap().expect("known"),
        )
    };
    let before = everything().await;
    assert_eq!((before.1.len(), before.2.len(), before.3.len(), before.4.len()), (1, 1, 2, 1));
    s.clock.advance_ms(LIFE_MS + MINUTE_MS + MARGIN_MS).await;
    assert_eq!((seqs(&s).await, readers(&s, &id, 1).await), (vec![], vec![]));
    assert_eq!(everything().await, before);
}

async fn neighbours_expire_on_their_own(s: Subject) {
    let id = s.conversation("c");
    let expires_at = s.clock.now().plus_ms(LIFE_MS);
    let messages = [1, 2, 3].map(|n| (s.message(&id, n), if n == 2 { expires_at } else { s.far() }));
    s.store.write_messages(&messages).await.unwrap();
    s.store.add_readers(&[short_add(&s, 2, 1, 9), add(&s, &id, 1, 2, s.uids(1, 9))]).await.unwrap();
    s.clock.advance_ms(LIFE_MS + MINUTE_MS + MARGIN_MS).await;
    assert_eq!(seqs(&s).await, [seq(1), seq(3)]);
    assert_eq!((readers(&s, &id, 1).await, readers(&s, &id, 2).await), (s.uids(1, 9), vec![]));
}

async fn a_repeat_keeps_the_expiry(s: Subject) {
    let id = s.conversation("c");
    let expires_at = s.clock.now().plus_ms(LIFE_MS);
    let message = (s.message(&id, 1), expires_at);
    let readers_of_it = short_add(&s, 1, 1, 9);
    for _ in 0..3 {
        s.store.write_messages(std::slice::from_ref(&message)).await.unwrap();
        s.store.add_readers(std::slice::from_ref(&readers_of_it)).await.unwrap();
    }
    let more_chunks = Message { chunks: 9, ..message.0 };
    s.store.write_messages(&[(more_chunks, expires_at)]).await.unwrap();
    assert_eq!(seqs(&s).await, [seq(1)]);
    s.clock.advance_ms(LIFE_MS + MARGIN_MS).await;
    assert_eq!(seqs(&s).await, []);
    // A late copy of what has expired does not bring it back.
    s.store.write_messages(&[(s.message(&id, 1), expires_at)]).await.unwrap();
    assert_eq!(seqs(&s).await, []);
    s.clock.advance_ms(MINUTE_MS + MARGIN_MS).await;
    s.store.add_readers(std::slice::from_ref(&readers_of_it)).await.unwrap();
    assert_eq!(readers(&s, &id, 1).await, []);
}

async fn an_expired_message_may_be_written_anew(s: Subject) {
    let id = s.conversation("c");
    s.store.write_messages(&[(s.message(&id, 1), s.clock.now().plus_ms(LIFE_MS))]).await.unwrap();
    s.store.add_readers(&[short_add(&s, 1, 1, 9)]).await.unwrap();
    s.clock.advance_ms(LIFE_MS + MINUTE_MS + MARGIN_MS).await;
    let anew = Message { msg_id: MsgId::new(77).unwrap(), chunks: 1, ..s.message(&id, 1) };
    s.store.write_messages(&[(anew.clone(), s.far())]).await.unwrap();
    s.store.add_readers(&[add(&s, &id, 1, 2, s.uids(20, 21))]).await.unwrap();
    assert_eq!(s.store.messages(&id, seq(1), seq(1)).await.unwrap(), [anew]);
    assert_eq!(readers(&s, &id, 1).await, s.uids(20, 21), "and the old readers stay gone");
}
