//! One write of each kind: single statements and batches, registers, sets, flags, rows, cells that expire.

use crate::server::now;
use crate::writes::{add, message, seq};
use readmark_domain::counting::MessageFlags;
use readmark_domain::dead_letter::{Actor, LetterId, Outcome, Resolution};
use readmark_domain::id::{ConversationId, Endpoint, Seq, Uid};
use readmark_domain::register::{Latest, Presence, ReceiptsMode, Switch, UserSwitches};
use readmark_domain::time::{Order, TimeMs};
use readmark_store::cql::CqlStore;
use readmark_store::{
    Bucket, ConversationStore, DeadLetterStore, MemberChange, MemberStore, MessageStore, Raise,
    ReadArrayStore, StoreError, UserStore,
};

/// What [`write`] writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Head,
    ImportedHead,
    Policy,
    Closed,
    Large,
    Buckets,
    OneReadArray,
    ReadArrays,
    OneMessage,
    Messages,
    Flags,
    Mentions,
    MentionAll,
    Members,
    CopiedSwitches,
    OneRegister,
    Registers,
    UserSwitch,
    DeadLetters,
}

pub const KINDS: [Kind; 19] = [
    Kind::Head,
    Kind::ImportedHead,
    Kind::Policy,
    Kind::Closed,
    Kind::Large,
    Kind::Buckets,
    Kind::OneReadArray,
    Kind::ReadArrays,
    Kind::OneMessage,
    Kind::Messages,
    Kind::Flags,
    Kind::Mentions,
    Kind::MentionAll,
    Kind::Members,
    Kind::CopiedSwitches,
    Kind::OneRegister,
    Kind::Registers,
    Kind::UserSwitch,
    Kind::DeadLetters,
];

fn order(n: u64) -> Order {
    Order::new(n).unwrap()
}

fn at(ms: u64) -> TimeMs {
    TimeMs::new(ms).unwrap()
}

/// A number of this conversation's own, so to say.
fn number(id: &ConversationId) -> u64 {
    id.as_str().bytes().fold(0, |sum: u64, byte| (sum * 31 + u64::from(byte)) % 1_000_000_007)
}

/// A user of this conversation's own.
fn user(id: &ConversationId) -> Uid {
    Uid::new(number(id)).unwrap()
}

fn letter(id: &ConversationId) -> LetterId {
    LetterId { partition: u32::MAX, offset: number(id) }
}

pub async fn write(store: &CqlStore, kind: Kind, id: &ConversationId) -> Result<(), StoreError> {
    let uid = user(id);
    let expires_at = now().plus_ms(90_000);
    let set = Latest { order: order(5), value: true };
    let switch = Switch { order: order(1), occurred_at: at(7), value: true };
    match kind {
        Kind::Head => store.raise_head(id, seq(9)).await,
        Kind::ImportedHead => store.raise_imported_head(id, seq(8)).await,
        Kind::Policy => {
            let switch = Switch { order: order(4), occurred_at: at(6), value: ReceiptsMode::Count };
            store.add_policy(id, switch).await
        }
        Kind::Closed => store.set_closed(id, set).await,
        Kind::Large => store.set_large(id).await,
        Kind::Buckets => {
            let bucket = |bucket| Bucket { bucket, newest_sent_at: at(5_000 + bucket) };
            store.raise_buckets(id, &[bucket(1), bucket(2)]).await
        }
        Kind::OneReadArray => store.add_readers(&[add(id, 1, 0..5)]).await,
        Kind::ReadArrays => store.add_readers(&[add(id, 1, 0..5), add(id, 2, 0..5)]).await,
        Kind::OneMessage => store.write_messages(&[(message(id, 1), expires_at)]).await,
        Kind::Messages => {
            store.write_messages(&[(message(id, 1), expires_at), (message(id, 2), expires_at)]).await
        }
        Kind::Flags => {
            let flags = MessageFlags { recalled: true, skipped: true, not_countable: true };
            store.add_flags(id, &[(seq(4), flags)]).await
        }
        Kind::Mentions => store.add_mentions(id, seq(4), &[uid]).await,
        Kind::MentionAll => store.add_mention_all(id, seq(5)).await,
        Kind::Members => {
            let presence = Presence::new(order(5), true);
            store.change_members(id, &[MemberChange { uid, presence, joined: Some(seq(3)) }]).await
        }
        Kind::CopiedSwitches => {
            let switches: UserSwitches = [switch].into_iter().collect();
            store.copy_switches(id, uid, &switches).await
        }
        Kind::OneRegister => store.raise(uid, id, &[Raise::Own(seq(2))]).await,
        Kind::Registers => {
            let endpoint = Endpoint::new("phone").ok();
            let raises = [
                Raise::Read { seq: seq(6), read_at: at(4), endpoint },
                Raise::Cleared(seq(1)),
                Raise::Own(seq(2)),
                Raise::Claimed(seq(6)),
                Raise::Receipted(seq(5)),
                Raise::Imported(seq(3)),
                Raise::Muted(set),
                Raise::MarkedUnread(set),
            ];
            store.raise(uid, id, &raises).await
        }
        Kind::UserSwitch => store.add_user_switch(uid, switch).await,
        Kind::DeadLetters => {
            let dropped = Resolution { at: at(5), outcome: Outcome::Dropped, by: Actor::Operator };
            store.resolve_dead_letters(&[(letter(id), dropped)]).await
        }
    }
}

/// Everything that [`write`] may have left, as text without what names the conversation.
pub async fn state(store: &CqlStore, id: &ConversationId) -> String {
    let uid = user(id);
    let messages = store.messages(id, Seq::ZERO, seq(127)).await.unwrap();
    let LetterId { partition, offset } = letter(id);
    let resolutions = store.resolutions(partition, offset, offset, 9).await.unwrap();
    let members = store.members(id).await.unwrap();
    let state = format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        store.conversation(id).await.unwrap(),
        store.buckets(id, 0, 9, 9).await.unwrap(),
        store.read_arrays(id, &[seq(1), seq(2)]).await.unwrap(),
        messages.iter().map(|message| (message.seq, message.chunks)).collect::<Vec<_>>(),
        store.flags(id, Seq::ZERO, Seq::LAST, 10).await.unwrap(),
        store.mentions(uid, id, Seq::ZERO, Seq::LAST, 10).await.unwrap(),
        members,
        store.user_conversation(uid, id).await.unwrap(),
        store.user_switches(uid).await.unwrap(),
        resolutions.iter().map(|(_, resolution)| resolution).collect::<Vec<_>>(),
    );
    state.replace(&uid.get().to_string(), "its user")
}
