//! Random operations of the port, and their answers in a form that can be compared.

use super::subject::{NOT_COUNTABLE, RECALLED, SKIPPED, Subject, at, latest, order, seq};
use crate::port::ReceiptStore;
use crate::row::{Bucket, MemberChange, Raise, ReadArrayAdd};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use readmark_domain::counting::{Message, MessageFlags};
use readmark_domain::dead_letter::{Actor, LetterId, Outcome, Resolution};
use readmark_domain::id::{ConversationId, Endpoint, MsgId, Seq, Uid};
use readmark_domain::register::{Presence, ReceiptsMode, Switch, UserSwitches};
use readmark_domain::time::TimeMs;

/// One call that changes something.
#[derive(Debug, Clone)]
pub(super) enum Operation {
    RaiseHead(ConversationId, Seq),
    RaiseImportedHead(ConversationId, Seq),
    AddPolicy(ConversationId, Switch<ReceiptsMode>),
    SetClosed(ConversationId, readmark_domain::register::Latest),
    SetLarge(ConversationId),
    RaiseBuckets(ConversationId, Vec<Bucket>),
    WriteMessages(Vec<(Message, TimeMs)>),
    AddFlags(ConversationId, Vec<(Seq, MessageFlags)>),
    AddMentions(ConversationId, Seq, Vec<Uid>),
    AddMentionAll(ConversationId, Seq),
    AddReaders(Vec<ReadArrayAdd>),
    ChangeMembers(ConversationId, Vec<MemberChange>),
    CopySwitches(ConversationId, Uid, UserSwitches),
    Raise(Uid, ConversationId, Vec<Raise>),
    AddUserSwitch(Uid, Switch<bool>),
    ResolveDeadLetters(Vec<(LetterId, Resolution)>),
}

/// Draws operations, all over a small world so that they meet often.
pub(super) struct Generator {
    rng: StdRng,
    conversations: Vec<ConversationId>,
    uids: Vec<Uid>,
    seqs: Vec<Seq>,
    letters: Vec<LetterId>,
    /// A message expires at one time, whoever writes it and its readers: as in production.
    born: TimeMs,
    expires: bool,
}

impl Generator {
    /// `expires`: some messages live only for minutes.
    pub fn new(s: &Subject, seed: u64, expires: bool) -> Self {
        let names = ["c", "c1", "c10", "é", "c1/1"];
        let seqs = [1, 2, 3, 126, 127, 128, 129, 255, 256, 65_535, 65_536, Seq::MAX - 1, Seq::MAX];
        Self {
            rng: StdRng::seed_from_u64(seed),
            conversations: names.iter().map(|name| s.conversation(name)).collect(),
            uids: [0, 1, 2, 127, 128, 255, 256, 65_536]
                .map(|n| s.uid(n))
                .into_iter()
                .chain([s.last_uid()])
                .collect(),
            seqs: seqs.map(seq).to_vec(),
            letters: [(0, 0), (0, 1), (0, 65_535), (0, 65_536), (1, 0), (2, 1)]
                .map(|(n, offset)| s.letter(n, offset))
                .to_vec(),
            born: s.clock.now(),
            expires,
        }
    }

    /// Below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.rng.random_range(0..n)
    }

    fn pick<T: Clone>(&mut self, from: fn(&Self) -> &[T]) -> T {
        let len = from(self).len() as u64;
        let at = usize::try_from(self.below(len)).expect("small");
        from(self)[at].clone()
    }

    fn conversation(&mut self) -> ConversationId {
        self.pick(|g| &g.conversations)
    }

    fn uid(&mut self) -> Uid {
        self.pick(|g| &g.uids)
    }

    fn seq(&mut self) -> Seq {
        self.pick(|g| &g.seqs)
    }

    fn some<T>(&mut self, most: u64, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..=self.below(most)).map(|_| make(self)).collect()
    }

    /// Orders are few, so that ties happen.
    fn latest(&mut self) -> readmark_domain::register::Latest {
        latest(self.below(6), self.rng.random())
    }

    fn flags(&mut self) -> MessageFlags {
        [RECALLED, SKIPPED, NOT_COUNTABLE][usize::try_from(self.below(3)).expect("small")]
    }

    fn expires_at(&self, number: Seq) -> TimeMs {
        let minutes = if self.expires { number.get() % 7 } else { 10_000 };
        self.born.plus_ms(minutes * 60_000)
    }

    fn user_switch(&mut self) -> Switch<bool> {
        Switch { order: order(self.below(4)), occurred_at: at(self.below(3)), value: self.rng.random() }
    }

    fn message(&mut self) -> (Message, TimeMs) {
        let number = self.seq();
        let message = Message {
            conversation_id: self.conversation(),
            seq: number,
            msg_id: MsgId::new(self.below(1 << 40)).expect("small"),
            sender_uid: self.uid(),
            sent_at: at(self.below(1 << 40)),
            countable: self.rng.random(),
            chunks: u16::try_from(self.below(5)).expect("small") + 1,
        };
        (message, self.expires_at(number))
    }

    fn read_array_add(&mut self) -> ReadArrayAdd {
        let number = self.seq();
        ReadArrayAdd {
            conversation_id: self.conversation(),
            seq: number,
            chunks: u16::try_from(self.below(5)).expect("small") + 1,
            message_expires_at: self.expires_at(number),
            readers: self.some(6, Self::uid),
        }
    }

    fn member_change(&mut self) -> MemberChange {
        let present = self.rng.random();
        MemberChange {
            uid: self.uid(),
            presence: Presence::new(order(self.below(6)), present),
            joined: if present { Some(self.seq()) } else { None },
        }
    }

    fn raise(&mut self) -> Raise {
        let to = self.seq();
        match self.below(8) {
            0 => {
                let endpoint = ["", "a", "ab", "phone"][usize::try_from(self.below(4)).expect("small")];
                Raise::Read { seq: to, read_at: at(self.below(3)), endpoint: Endpoint::new(endpoint).ok() }
            }
            1 => Raise::Cleared(to),
            2 => Raise::Own(to),
            3 => Raise::Claimed(to),
            4 => Raise::Receipted(to),
            5 => Raise::Imported(to),
            6 => Raise::Muted(self.latest()),
            _ => Raise::MarkedUnread(self.latest()),
        }
    }

    fn policy(&mut self) -> Switch<ReceiptsMode> {
        let modes = [ReceiptsMode::Full, ReceiptsMode::Count, ReceiptsMode::Off];
        let value = modes[usize::try_from(self.below(3)).expect("small")];
        Switch { order: order(self.below(4)), occurred_at: at(self.below(3)), value }
    }

    fn resolution(&mut self) -> (LetterId, Resolution) {
        let outcome = [Outcome::Buried, Outcome::Redelivered, Outcome::Dropped];
        let outcome = outcome[usize::try_from(self.below(3)).expect("small")];
        let by = if self.rng.random() { Actor::Janitor } else { Actor::Operator };
        (self.pick(|g| &g.letters), Resolution { at: at(self.below(4)), outcome, by })
    }

    /// The next operation.
    pub fn operation(&mut self) -> Operation {
        let id = self.conversation();
        match self.below(21) {
            0 => Operation::RaiseHead(id, self.seq()),
            1 => Operation::RaiseImportedHead(id, self.seq()),
            2 => Operation::AddPolicy(id, self.policy()),
            3 => Operation::SetClosed(id, self.latest()),
            4 if self.below(10) == 0 => Operation::SetLarge(id),
            4 | 5 => {
                let bucket =
                    |g: &mut Self| Bucket { bucket: g.seq().bucket(), newest_sent_at: at(g.below(9)) };
                Operation::RaiseBuckets(id, self.some(3, bucket))
            }
            6 | 7 => Operation::WriteMessages(self.some(3, Self::message)),
            8 => Operation::AddFlags(id, self.some(3, |g| (g.seq(), g.flags()))),
            9 => Operation::AddMentions(id, self.seq(), self.some(3, Self::uid)),
            10 => Operation::AddMentionAll(id, self.seq()),
            11..=14 => Operation::AddReaders(self.some(4, Self::read_array_add)),
            15 | 16 => Operation::ChangeMembers(id, self.some(3, Self::member_change)),
            17 => {
                Operation::CopySwitches(id, self.uid(), self.some(3, Self::user_switch).into_iter().collect())
            }
            18 => Operation::Raise(self.uid(), id, self.some(4, Self::raise)),
            19 => Operation::AddUserSwitch(self.uid(), self.user_switch()),
            _ => Operation::ResolveDeadLetters(self.some(3, Self::resolution)),
        }
    }

    /// Everything that can be asked about this world, page sizes drawn.
    pub async fn everything(&self, store: &dyn ReceiptStore, page: usize) -> Vec<(String, String)> {
        let mut answers = Vec::new();
        for id in &self.conversations {
            self.of_conversation(store, id, page, &mut answers).await;
        }
        for id in &self.letters {
            let resolutions = store.resolutions(id.partition, id.offset, 70_000, page).await;
            answers.push((format!("resolutions from {id}"), show(resolutions)));
        }
        for uid in &self.uids {
            let mut say = |what: String, answer: String| answers.push((format!("{what} of {uid}"), answer));
            say("user_switches".into(), show(store.user_switches(*uid).await));
            say("user_conversations".into(), show(store.user_conversations(*uid, None, page).await));
            for id in &self.conversations {
                let after = store.user_conversations(*uid, Some(id), page).await;
                say(format!("user_conversations after {id}"), show(after));
                say(format!("user_conversation {id}"), show(store.user_conversation(*uid, id).await));
                for first in [Seq::ZERO, seq(3), seq(128)] {
                    let mentions = store.mentions(*uid, id, first, seq(65_536), page).await;
                    say(format!("mentions in {id} from {first}"), show(mentions));
                }
            }
        }
        answers
    }

    async fn of_conversation(
        &self,
        store: &dyn ReceiptStore,
        id: &ConversationId,
        page: usize,
        answers: &mut Vec<(String, String)>,
    ) {
        let mut say = |what: &str, answer: String| answers.push((format!("{what} of {id}"), answer));
        say("conversation", show(store.conversation(id).await));
        say("buckets", show(store.buckets(id, 0, 512, page).await));
        say("newest_buckets", show(store.newest_buckets(id, page).await));
        say("messages", show(store.messages(id, Seq::ZERO, seq(300)).await));
        say("messages at the end", show(store.messages(id, seq(Seq::MAX - 5), Seq::LAST).await));
        say("flags", show(store.flags(id, Seq::ZERO, Seq::LAST, page).await));
        say("flags from 127", show(store.flags(id, seq(127), seq(65_535), page).await));
        say("read_arrays", show(store.read_arrays(id, &self.seqs).await));
        say("members", show(store.members(id).await));
        say("members_of", show(store.members_of(id, &self.uids).await));
    }
}

fn show<T: std::fmt::Debug, E: std::fmt::Display>(answer: Result<T, E>) -> String {
    match answer {
        Ok(value) => format!("{value:?}"),
        Err(error) => panic!("the store failed: {error}"),
    }
}

impl Operation {
    /// Makes the call.
    pub async fn apply(&self, store: &dyn ReceiptStore) {
        let outcome = match self {
            Self::RaiseHead(id, head) => store.raise_head(id, *head).await,
            Self::RaiseImportedHead(id, head) => store.raise_imported_head(id, *head).await,
            Self::AddPolicy(id, switch) => store.add_policy(id, *switch).await,
            Self::SetClosed(id, closed) => store.set_closed(id, *closed).await,
            Self::SetLarge(id) => store.set_large(id).await,
            Self::RaiseBuckets(id, buckets) => store.raise_buckets(id, buckets).await,
            Self::WriteMessages(messages) => store.write_messages(messages).await,
            Self::AddFlags(id, flags) => store.add_flags(id, flags).await,
            Self::AddMentions(id, number, uids) => store.add_mentions(id, *number, uids).await,
            Self::AddMentionAll(id, number) => store.add_mention_all(id, *number).await,
            Self::AddReaders(adds) => store.add_readers(adds).await,
            Self::ChangeMembers(id, changes) => store.change_members(id, changes).await,
            Self::CopySwitches(id, uid, switches) => store.copy_switches(id, *uid, switches).await,
            Self::Raise(uid, id, raises) => store.raise(*uid, id, raises).await,
            Self::AddUserSwitch(uid, switch) => store.add_user_switch(*uid, *switch).await,
            Self::ResolveDeadLetters(resolutions) => store.resolve_dead_letters(resolutions).await,
        };
        if let Err(error) = outcome {
            panic!("{self:?} failed: {error}");
        }
    }
}
