//! The adapter on real Redis servers, which these tests start themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

mod cluster;
mod failover;
mod lost_answers;
mod one_server;
mod outage;
mod scripts;
mod security;

use readmark_domain::hot::{Change, Completed, SyncToken, TallyChange};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::register::{Presence, ReceiptsMode};
use readmark_domain::time::Order;
use readmark_hot::redis::{RedisHot, RedisOptions};
use readmark_hot::{Begun, Held, HotError, HotState, TallyTold, UserChange};
use std::sync::Arc;

/// Begins the names of keys.
const PREFIX: &str = "test";
/// A lease that can be waited for.
const SHORT_LEASE_MS: u64 = 500;

async fn open(urls: &str) -> Result<RedisHot, HotError> {
    RedisHot::open(&RedisOptions::new(urls, PREFIX)).await
}

fn uid(n: u64) -> Uid {
    Uid::new(n).unwrap()
}

fn id(name: &str) -> ConversationId {
    ConversationId::new(name).unwrap()
}

fn head(n: u64) -> Change {
    Change { head: Seq::new(n).unwrap(), ..Change::default() }
}

fn member(n: u64) -> Change {
    Change { presence: Some(Presence::new(Order::new(1).unwrap(), true)), ..head(n) }
}

fn told(uid: Uid, change: Change) -> UserChange {
    UserChange { uid, conversation_id: id("c"), change: Arc::new(change) }
}

/// One reader of two of this message.
fn tally(uid: Uid, seq: u64) -> TallyTold {
    let change = TallyChange {
        conversation_id: id("c"),
        seq: Seq::new(seq).unwrap(),
        mode: ReceiptsMode::Full,
        read: 1,
        total: 2,
        readers_added: Vec::new(),
        version: format!("{seq:032x}").parse().unwrap(),
    };
    TallyTold { uid, change }
}

/// A user with one conversation of this head.
async fn rebuilt(hot: &dyn HotState, uid: Uid, head: u64) -> SyncToken {
    let Begun::Rebuild(epoch) = hot.begin_rebuild(uid).await.expect("begin") else { panic!("no rebuild") };
    hot.apply(&[told(uid, member(head))]).await.remove(0).expect("apply");
    match hot.complete_rebuild(uid, &epoch).await.expect("complete") {
        Completed::Complete(token) => token,
        other @ (Completed::ToCount(_) | Completed::Lost) => panic!("{other:?}"),
    }
}

async fn unread(hot: &dyn HotState, uid: Uid) -> Result<Held<u64>, HotError> {
    Ok(match hot.picture(uid, None).await? {
        Held::Complete(picture) => Held::Complete(picture.total.get()),
        Held::Incomplete => Held::Incomplete,
        Held::Missing => Held::Missing,
    })
}
