//! What the product answers and tells.

use super::{Conversation, State};
use readmark_domain::counting::{Tally, lists};
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::register::{Latest, ReadMark};
use readmark_domain::unread::unread;
use std::collections::BTreeMap;

/// What a user's devices show of one conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dots {
    pub head: Seq,
    pub read: ReadMark,
    pub floor: Seq,
    pub unread: u64,
    pub mentions: u64,
    pub marked_unread: bool,
    pub muted: bool,
    /// In the totals: a present member's, open, not muted.
    pub counted: bool,
}

/// What a user's devices show.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Picture {
    pub conversations: BTreeMap<ConversationId, Dots>,
    pub total: u64,
}

/// A message's answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    pub tally: Tally,
    pub readers: Vec<Uid>,
    pub non_readers: Vec<Uid>,
}

/// Everything that can be asked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answers {
    pub receipts: BTreeMap<(ConversationId, Seq), Receipt>,
    pub pictures: BTreeMap<Uid, Picture>,
    pub closed: BTreeMap<ConversationId, bool>,
}

impl State {
    pub fn answers(&self) -> Answers {
        let mut answers = Answers::default();
        for (id, conversation) in &self.conversations {
            answers.closed.insert(id.clone(), Latest::value_of(conversation.closed));
            for (seq, receipt) in conversation.receipts() {
                answers.receipts.insert((id.clone(), seq), receipt);
            }
        }
        answers.pictures = self.known_users().into_iter().map(|user| (user, self.picture(user))).collect();
        answers
    }

    pub fn picture(&self, user: Uid) -> Picture {
        let of = |(id, conversation): (&ConversationId, &Conversation)| (id.clone(), conversation.dots(user));
        let conversations: BTreeMap<_, _> = self.conversations.iter().map(of).collect();
        let total = conversations.values().filter(|dots| dots.counted).map(|dots| dots.unread).sum();
        Picture { conversations, total }
    }
}

impl Conversation {
    pub fn receipts(&self) -> BTreeMap<Seq, Receipt> {
        let roster = self.roster();
        let sent = self.seqs.iter().filter_map(|(seq, sent)| Some((*seq, sent, sent.message.as_ref()?)));
        sent.map(|(seq, sent, message)| {
            let tally = Tally::of(&roster, message, sent.flags, &sent.readers);
            let (readers, non_readers) = lists(&roster, message, sent.flags, &sent.readers);
            (seq, Receipt { tally, readers, non_readers })
        })
        .collect()
    }

    /// Seqs that count as unread for nobody.
    pub fn uncounted(&self) -> Vec<Seq> {
        self.seqs.iter().filter(|(_, sent)| sent.flags.is_uncounted()).map(|(seq, _)| *seq).collect()
    }

    fn dots(&self, user: Uid) -> Dots {
        let registers = self.users.get(&user).cloned().unwrap_or_default();
        let floor = self.floor_of(user);
        let shown = self.members.get(&user).is_some_and(|member| member.is_present())
            && !Latest::value_of(self.closed);
        let between = |seq: &Seq| floor < *seq && *seq <= self.head;
        let uncounted = self.uncounted().iter().filter(|seq| between(seq)).count() as u64;
        let mentioned = self.seqs.iter().filter(|(seq, sent)| {
            between(seq) && !sent.flags.is_uncounted() && (sent.mention_all || sent.mentions.contains(&user))
        });
        let muted = Latest::value_of(registers.muted);
        Dots {
            head: self.head,
            floor,
            unread: if shown { unread(self.head, floor, uncounted) } else { 0 },
            mentions: if shown { mentioned.count() as u64 } else { 0 },
            marked_unread: Latest::value_of(registers.marked_unread),
            muted,
            counted: shown && !muted,
            read: registers.read,
        }
    }
}
