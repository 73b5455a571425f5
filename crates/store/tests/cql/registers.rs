//! Registers: the greatest wins on the server, whoever writes when. And what would break that.

use crate::server::{config, keyspace, now, open, session};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use readmark_domain::id::{ConversationId, Endpoint, Seq, Uid};
use readmark_domain::register::{Latest, Presence};
use readmark_domain::time::{Order, TimeMs};
use readmark_store::cql::CqlStore;
use readmark_store::{ConversationStore, MemberChange, MemberStore, Raise, UserConversation, UserStore};
use std::sync::Arc;

const WRITERS: u64 = 8;
const WRITES: usize = 60;

fn seq(n: u64) -> Seq {
    Seq::new_or_zero(n).unwrap()
}

fn latest(rng: &mut StdRng) -> Latest {
    Latest { order: Order::new(rng.random_range(0..40)).unwrap(), value: rng.random() }
}

/// Few values, so that ties are many.
fn raise(rng: &mut StdRng) -> Raise {
    let to = seq(rng.random_range(0..40));
    let endpoint = ["a", "ab", "b", ""].choose(rng).unwrap();
    match rng.random_range(0..8) {
        0 | 1 => Raise::Read {
            seq: to,
            read_at: TimeMs::new(rng.random_range(0..3)).unwrap(),
            endpoint: Endpoint::new(endpoint).ok(),
        },
        2 => Raise::Cleared(to),
        3 => Raise::Own(to),
        4 => Raise::Claimed(to),
        5 => Raise::Imported(to),
        6 => Raise::Muted(latest(rng)),
        _ => Raise::MarkedUnread(latest(rng)),
    }
}

fn change(rng: &mut StdRng, uid: Uid) -> MemberChange {
    let present = rng.random();
    let presence = Presence::new(Order::new(rng.random_range(0..40)).unwrap(), present);
    MemberChange { uid, presence, joined: present.then(|| seq(rng.random_range(0..40))) }
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_writers_with_clocks_two_seconds_apart_agree() {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let (id, uid) = (ConversationId::new("eight writers").unwrap(), Uid::new(880_088).unwrap());
    let keyspace = keyspace().await;
    let mut running = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let id = id.clone();
        running.spawn(async move {
            let skewed = move || now().plus_ms(writer * 4_000 / (WRITERS - 1)).minus_ms(2_000);
            let store = CqlStore::open(&config(keyspace), Arc::new(skewed)).await.unwrap();
            let mut rng = StdRng::seed_from_u64(seed ^ writer);
            let mut expected = UserConversation::default();
            for _ in 0..WRITES {
                let raises: Vec<Raise> = (0..rng.random_range(1..5)).map(|_| raise(&mut rng)).collect();
                store.raise(uid, &id, &raises).await.unwrap();
                raises.iter().for_each(|raise| expected.apply(raise));
                let change = change(&mut rng, uid);
                store.change_members(&id, &[change]).await.unwrap();
                expected.apply_change(&change);
            }
            expected
        });
    }
    let mut expected = UserConversation::default();
    for of_writer in running.join_all().await {
        merge(&mut expected, of_writer);
    }
    let store = open().await;
    assert_eq!(store.user_conversation(uid, &id).await.unwrap(), Some(expected.clone()), "seed {seed}");
    let member = store.members_of(&id, &[uid]).await.unwrap().remove(0).unwrap();
    assert_eq!(
        (member.presence, member.joined, member.claimed, member.imported),
        (expected.presence, expected.joined, expected.claimed, expected.imported),
        "seed {seed}"
    );
}

fn merge(into: &mut UserConversation, from: UserConversation) {
    into.presence = into.presence.max(from.presence);
    into.joined = into.joined.max(from.joined);
    into.muted = into.muted.max(from.muted);
    into.marked_unread = into.marked_unread.max(from.marked_unread);
    let mark = from.read;
    into.apply(&Raise::Read { seq: mark.seq, read_at: mark.read_at, endpoint: mark.endpoint });
    for raise in [
        Raise::Cleared(from.cleared),
        Raise::Own(from.own),
        Raise::Claimed(from.claimed),
        Raise::Receipted(from.receipted),
        Raise::Imported(from.imported),
    ] {
        into.apply(&raise);
    }
}

/// Why no statement of the adapter binds null, deletes, or takes a timestamp from outside unbounded: each of
/// these answers Ok and hides every later write of the register.
#[tokio::test(flavor = "multi_thread")]
async fn a_tombstone_or_a_far_timestamp_hides_a_register() {
    let (store, session, keyspace) = (open().await, session().await, keyspace().await);
    for (name, poison) in [
        ("null", "UPDATE {ks}.conversations SET head = null WHERE conversation_id = ?"),
        ("delete", "DELETE head FROM {ks}.conversations WHERE conversation_id = ?"),
        (
            "far",
            "UPDATE {ks}.conversations USING TIMESTAMP 9223372036854775807 SET head = 1 WHERE conversation_id = ?",
        ),
    ] {
        let id = ConversationId::new(&format!("poisoned by {name}")).unwrap();
        session.query_unpaged(poison.replace("{ks}", keyspace), (id.as_str(),)).await.unwrap();
        store.raise_head(&id, Seq::LAST).await.unwrap();
        let head = store.conversation(&id).await.unwrap().map(|c| c.head);
        assert!(head.is_none_or(|head| head <= seq(1)), "{name}: the head is {head:?}");
    }
}

/// The greatest order keys there can be stay below the clock in microseconds: no later write is hidden, and
/// ScyllaDB, which refuses what is three days ahead, takes them.
#[tokio::test(flavor = "multi_thread")]
async fn the_greatest_keys_are_in_the_past() {
    let (store, session, keyspace) = (open().await, session().await, keyspace().await);
    let (id, uid) = (ConversationId::new("greatest keys").unwrap(), Uid::new(1).unwrap());
    let greatest = Latest { order: Order::new(Order::MAX).unwrap(), value: true };
    store.raise(uid, &id, &[Raise::Muted(greatest), Raise::Own(Seq::LAST)]).await.unwrap();
    let text = format!(
        "SELECT WRITETIME(muted), WRITETIME(own) FROM {keyspace}.user_conversations WHERE uid = 1 AND conversation_id = ?"
    );
    let rows = session.query_unpaged(text, (id.as_str(),)).await.unwrap().into_rows_result().unwrap();
    let (muted, own) = rows.single_row::<(i64, i64)>().unwrap();
    let now_us = i64::try_from(now().get() * 1_000).unwrap();
    assert_eq!((muted, own), (1_000_000_000_000_001, 1_000_000_000_000_000));
    assert!(muted < now_us, "{muted} is ahead of the clock, {now_us}");
}
