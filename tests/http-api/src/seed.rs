use readmark_domain::counting::{Message, MessageFlags};
use readmark_domain::id::{ConversationId, MsgId, Seq, Uid};
use readmark_domain::register::{Latest, Presence, ReceiptsMode, Switch};
use readmark_domain::time::{Order, TimeMs};
use readmark_domain::verdict::Retention;
use readmark_store::{Bucket, MemberChange, Raise, ReadArrayAdd, ReceiptStore};
use std::sync::Arc;

/// What time it is when a test begins.
pub const NOW_MS: u64 = 1_780_000_000_000;

pub fn uid(n: u64) -> Uid {
    Uid::new(n).unwrap()
}

pub fn seq(n: u64) -> Seq {
    Seq::new_or_zero(n).unwrap()
}

pub fn conversation(id: &str) -> ConversationId {
    ConversationId::new(id).unwrap()
}

/// A message as the catalog writes it, sent an hour ago.
pub fn message(id: &str, n: u64, sender: u64) -> Message {
    Message {
        conversation_id: conversation(id),
        seq: seq(n),
        msg_id: MsgId::new(900 + n).unwrap(),
        sender_uid: uid(sender),
        sent_at: TimeMs::saturating(NOW_MS - 3_600_000),
        countable: true,
        chunks: 1,
    }
}

/// Writes state as the roles do, without them.
#[derive(Clone)]
pub struct Seed(pub Arc<dyn ReceiptStore>);

impl Seed {
    pub async fn joins(&self, id: &str, members: &[u64], at_seq: u64) {
        self.presence(id, members, Some(at_seq), 1_000).await;
    }

    pub async fn leaves(&self, id: &str, members: &[u64]) {
        self.presence(id, members, None, 2_000).await;
    }

    /// Joins after `joined`, or leaves.
    pub async fn changes(&self, id: &str, member: u64, joined: Option<u64>, order: u64) {
        self.presence(id, &[member], joined, order).await;
    }

    async fn presence(&self, id: &str, members: &[u64], joined: Option<u64>, order: u64) {
        let change = |n: &u64| MemberChange {
            uid: uid(*n),
            presence: Presence::new(Order::new(order).unwrap(), joined.is_some()),
            joined: joined.map(seq),
        };
        let changes: Vec<MemberChange> = members.iter().map(change).collect();
        self.0.change_members(&conversation(id), &changes).await.unwrap();
    }

    pub async fn sends(&self, id: &str, sender: u64, seqs: impl IntoIterator<Item = u64>) {
        for n in seqs {
            self.message(message(id, n, sender)).await;
        }
    }

    pub async fn message(&self, message: Message) {
        let (id, sender, at) = (message.conversation_id.clone(), message.sender_uid, message.seq);
        let bucket = Bucket { bucket: at.bucket(), newest_sent_at: message.sent_at };
        self.0.raise_buckets(&id, &[bucket]).await.unwrap();
        let expires_at = Retention::days(90).expires_at(message.sent_at);
        self.0.write_messages(&[(message, expires_at)]).await.unwrap();
        self.0.raise(sender, &id, &[Raise::Own(at)]).await.unwrap();
        self.0.raise_head(&id, at).await.unwrap();
    }

    pub async fn reads(&self, id: &str, readers: &[u64], n: u64) {
        let message = message(id, n, 0);
        let add = ReadArrayAdd {
            conversation_id: conversation(id),
            seq: seq(n),
            chunks: 1,
            message_expires_at: Retention::days(90).expires_at(message.sent_at),
            readers: readers.iter().copied().map(uid).collect(),
        };
        self.0.add_readers(&[add]).await.unwrap();
    }

    pub async fn marks(&self, id: &str, reader: u64, n: u64) {
        let raise = Raise::Read { seq: seq(n), read_at: TimeMs::ZERO, endpoint: None };
        self.0.raise(uid(reader), &conversation(id), &[raise]).await.unwrap();
    }

    pub async fn recalls(&self, id: &str, n: u64) {
        let flags = MessageFlags { recalled: true, ..MessageFlags::default() };
        self.0.add_flags(&conversation(id), &[(seq(n), flags)]).await.unwrap();
    }

    pub async fn skips(&self, id: &str, n: u64) {
        let flags = MessageFlags { skipped: true, ..MessageFlags::default() };
        self.0.add_flags(&conversation(id), &[(seq(n), flags)]).await.unwrap();
        self.0.raise_head(&conversation(id), seq(n)).await.unwrap();
    }

    pub async fn closes(&self, id: &str, closed: bool, order: u64) {
        let latest = Latest { order: Order::new(order).unwrap(), value: closed };
        self.0.set_closed(&conversation(id), latest).await.unwrap();
    }

    pub async fn policy(&self, id: &str, mode: ReceiptsMode, order: u64) {
        let switch = Switch { order: Order::new(order).unwrap(), occurred_at: TimeMs::ZERO, value: mode };
        self.0.add_policy(&conversation(id), switch).await.unwrap();
    }
}
