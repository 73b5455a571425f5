//! Writes whose answers are lost after they took effect.

use crate::proxy::{Loss, Proxy};
use crate::server::{config, contact_points, keyspace, now, open, open_with};
use crate::writes::{add, message, seq};
use readmark_domain::counting::MessageFlags;
use readmark_domain::dead_letter::{Actor, LetterId, Outcome, Resolution};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::register::{Latest, Presence, Switch};
use readmark_domain::time::{Order, TimeMs};
use readmark_store::cql::{CqlConfig, CqlStore};
use readmark_store::{
    Bucket, ConversationStore, DeadLetterStore, MemberChange, MemberStore, MessageStore, Raise,
    ReadArrayStore, StoreError, UserStore,
};

/// One write of each kind: single statements and batches, registers, sets, rows, cells that expire.
const KINDS: usize = 11;

/// A letter of this conversation's own, so to say.
fn letter(id: &ConversationId) -> LetterId {
    let of_name = id.as_str().bytes().fold(0, |sum: u64, byte| sum * 31 % 65_521 + u64::from(byte));
    LetterId { partition: u32::MAX, offset: of_name }
}

fn dropped() -> Resolution {
    Resolution { at: TimeMs::saturating(5), outcome: Outcome::Dropped, by: Actor::Operator }
}

fn order(n: u64) -> Order {
    Order::new(n).unwrap()
}

async fn write(store: &CqlStore, kind: usize, id: &ConversationId) -> Result<(), StoreError> {
    let uid = Uid::new(31).unwrap();
    match kind {
        0 => store.raise_head(id, seq(9)).await,
        1 => store.raise_imported_head(id, seq(8)).await,
        2 => store.add_readers(&[add(id, 1, 0..5)]).await,
        3 => store.add_readers(&[add(id, 1, 0..5), add(id, 2, 0..5)]).await,
        4 => store.write_messages(&[(message(id, 1), now().plus_ms(90_000))]).await,
        5 => {
            let flags = MessageFlags { recalled: true, skipped: true, ..MessageFlags::default() };
            store.add_flags(id, &[(seq(4), flags)]).await
        }
        6 => store.add_mentions(id, seq(4), &[uid]).await,
        7 => {
            let presence = Presence::new(order(5), true);
            store.change_members(id, &[MemberChange { uid, presence, joined: Some(seq(3)) }]).await
        }
        8 => {
            let muted = Latest { order: order(5), value: true };
            store.raise(uid, id, &[Raise::Claimed(seq(6)), Raise::Muted(muted)]).await
        }
        9 => store.resolve_dead_letters(&[(letter(id), dropped())]).await,
        _ => {
            let bucket = Bucket { bucket: 1, newest_sent_at: now() };
            store.raise_buckets(id, &[bucket]).await?;
            let switch = Switch { order: order(1), occurred_at: now(), value: true };
            store.add_user_switch(uid, switch).await
        }
    }
}

/// Everything the writes above may have left, as text but for times.
async fn state(id: &ConversationId) -> String {
    let store = open().await;
    let uid = Uid::new(31).unwrap();
    let messages = store.messages(id, Seq::ZERO, seq(127)).await.unwrap();
    let LetterId { partition, offset } = letter(id);
    let resolutions = store.resolutions(partition, offset, offset, 9).await.unwrap();
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        store.conversation(id).await.unwrap(),
        store.read_arrays(id, &[seq(1), seq(2)]).await.unwrap(),
        messages.iter().map(|message| (message.seq, message.chunks)).collect::<Vec<_>>(),
        store.flags(id, Seq::ZERO, Seq::LAST, 10).await.unwrap(),
        store.mentions(uid, id, Seq::ZERO, Seq::LAST, 10).await.unwrap(),
        store.members(id).await.unwrap(),
        store.user_conversation(uid, id).await.unwrap(),
        resolutions.iter().map(|(_, resolution)| resolution).collect::<Vec<_>>(),
    )
}

async fn behind_a_proxy(request_timeout_ms: u64) -> (CqlStore, Proxy) {
    let proxy = Proxy::start(contact_points().remove(0)).await;
    let config = CqlConfig {
        contact_points: vec![proxy.address.to_string()],
        request_timeout_ms,
        ..config(keyspace().await)
    };
    (open_with(&config).await, proxy)
}

fn named(what: &str, kind: usize) -> ConversationId {
    ConversationId::new(&format!("{what} {kind}")).unwrap()
}

/// One timeout or two: the adapter repeats the write, and the call succeeds.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_timed_out_is_repeated() {
    let (store, proxy) = behind_a_proxy(10_000).await;
    for kind in 0..KINDS {
        let (id, calm) = (named("repeated", kind), named("calm", kind));
        write(&store, kind, &calm).await.unwrap();
        let before = proxy.lost();
        proxy.lose(Loss::Timeout, 2);
        write(&store, kind, &id).await.unwrap();
        assert_eq!(proxy.lost() - before, 2, "kind {kind}: answers lost");
        assert_eq!(state(&id).await, state(&calm).await, "kind {kind}");
    }
}

/// One more than it repeats, or silence: the call fails so that its caller tries again; what was written stands,
/// and trying again changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_landed_may_fail_and_be_tried_again() {
    let (store, proxy) = behind_a_proxy(700).await;
    for (name, loss) in [("timeout", Loss::Timeout), ("silence", Loss::Silence)] {
        for kind in 0..KINDS {
            let (id, calm) = (named(name, kind), named(&format!("calm {name}"), kind));
            write(&store, kind, &calm).await.unwrap();
            proxy.lose(loss, 16);
            let error = write(&store, kind, &id).await.expect_err("an answer that was lost");
            assert!(error.is_retryable(), "{name}, kind {kind}: {error}");
            proxy.lose(loss, 0);
            write(&store, kind, &id).await.unwrap();
            assert_eq!(state(&id).await, state(&calm).await, "{name}, kind {kind}");
        }
    }
}

/// The first write did take effect, though nobody was told.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_no_lost_write() {
    let (store, proxy) = behind_a_proxy(700).await;
    for (name, loss) in [("timeout", Loss::Timeout), ("silence", Loss::Silence)] {
        let id = named(&format!("landed {name}"), 0);
        proxy.lose(loss, 16);
        store.raise_head(&id, seq(77)).await.expect_err("an answer that was lost");
        proxy.lose(loss, 0);
        let head = open().await.conversation(&id).await.unwrap().map(|c| c.head);
        assert_eq!(head, Some(seq(77)), "{name}");
    }
}
