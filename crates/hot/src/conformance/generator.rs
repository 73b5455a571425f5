//! Random operations over a world so small that they meet often.

use super::hands::{id, order, seq, uid};
use super::subject::Loss;
use crate::port::{TallyTold, UserChange};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use readmark_domain::hot::{Cause, Change, CountRange, Counted, TallyChange};
use readmark_domain::id::{ConversationId, Endpoint, Seq, Uid};
use readmark_domain::register::{Latest, Presence, ReceiptsMode};
use readmark_domain::seq_ranges::{SeqRange, SeqRanges};
use readmark_domain::time::TimeMs;
use std::sync::Arc;

/// One call, or one thing that happens.
#[derive(Debug, Clone)]
pub(super) enum Operation {
    Apply(Vec<UserChange>),
    ApplyTallies(Vec<TallyTold>),
    Begin(Uid),
    Complete(Uid),
    Forget(Uid),
    ForgetAll,
    Touch(Uid),
    Lose(Loss),
}

/// Draws operations.
pub(super) struct Generator {
    rng: StdRng,
    /// What answers asked to be counted.
    pub asked: Vec<(Uid, ConversationId, CountRange)>,
    last: Option<Operation>,
}

/// Users, conversations and devices of the world.
pub(super) const USERS: u64 = 4;
pub(super) const CONVERSATIONS: [&str; 4] = ["c", "c1", "é", "{1}"];
const DEVICES: [&str; 3] = ["phone", "pc", "ü"];
/// Answers to be counted that are remembered.
const ASKED_MAX: usize = 50;

impl Generator {
    pub fn new(seed: u64) -> Self {
        Self { rng: StdRng::seed_from_u64(seed), asked: Vec::new(), last: None }
    }

    /// Below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.rng.random_range(0..n)
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        let at = usize::try_from(self.below(from.len() as u64)).expect("small");
        from[at].clone()
    }

    pub fn uid(&mut self) -> Uid {
        uid(self.below(USERS))
    }

    pub fn conversation(&mut self) -> ConversationId {
        id(self.pick(&CONVERSATIONS))
    }

    /// Mostly small, so that ranges overlap; now and then as great as can be.
    fn seq(&mut self) -> Seq {
        if self.one_in(40) { seq(Seq::MAX - self.below(3)) } else { seq(self.below(240)) }
    }

    fn latest(&mut self) -> Option<Latest> {
        Some(Latest { order: order(self.below(6)), value: self.rng.random() })
    }

    /// Some ranges, often more seqs than are kept.
    fn seqs(&mut self) -> SeqRanges {
        let longest = self.pick(&[1, 4, 100, 66_000]);
        let ranges = (0..=self.below(4)).filter_map(|_| {
            let first = self.seq().next();
            SeqRange::new(first, first.forward(self.below(longest)))
        });
        SeqRanges::from_ranges(ranges.collect())
    }

    /// As a store counts: more later on, and never more than there are.
    fn counted(&mut self, range: CountRange) -> Counted {
        let span = range.head.get().saturating_sub(range.floor.get()).min(300);
        let uncounted = self.below(span + 1);
        let mentions = self.below(span + 1);
        let uncounted_mentions = self.below(mentions.min(uncounted) + 1);
        Counted { range, uncounted, mentions, uncounted_mentions }
    }

    fn asked(&mut self) -> Option<(Uid, ConversationId, CountRange)> {
        if self.asked.len() > ASKED_MAX {
            self.asked.drain(..ASKED_MAX / 2);
        }
        if self.asked.is_empty() { None } else { Some(self.pick(&self.asked.clone())) }
    }

    fn change(&mut self) -> Change {
        let mut change = Change::default();
        if self.one_in(3) {
            change.head = self.seq();
            change.newest_sent_at = TimeMs::new(self.below(2_000_000_000_000)).expect("a time");
        }
        if self.one_in(4) {
            change.read = self.seq();
            change.cause = Cause::Read(Endpoint::new(self.pick(&DEVICES)).ok().filter(|_| !self.one_in(3)));
        }
        if self.one_in(4) {
            change.floor = self.seq();
        }
        if self.one_in(4) {
            change.presence = Some(Presence::new(order(self.below(6)), !self.one_in(4)));
        }
        let flags = [&mut change.closed, &mut change.marked_unread, &mut change.muted];
        for flag in flags {
            if self.one_in(8) {
                *flag = self.latest();
            }
        }
        change.is_large = self.one_in(20);
        if self.one_in(3) {
            change = change.with_uncounted(&self.seqs());
        }
        if self.one_in(4) {
            change = change.with_mentions(&self.seqs());
        }
        if self.one_in(10) {
            let range = CountRange { floor: change.floor, head: change.head };
            change = change.with_counted_only(self.counted(range));
        }
        change
    }

    fn user_change(&mut self) -> UserChange {
        if self.one_in(3)
            && let Some((uid, conversation_id, range)) = self.asked()
        {
            let cause = if self.one_in(2) { Cause::Read(None) } else { Cause::Other };
            let change = Arc::new(Change::of_counted(self.counted(range), cause));
            return UserChange { uid, conversation_id, change };
        }
        UserChange { uid: self.uid(), conversation_id: self.conversation(), change: Arc::new(self.change()) }
    }

    fn tally(&mut self) -> TallyTold {
        let change = TallyChange {
            conversation_id: self.conversation(),
            seq: seq(self.below(6) + 1),
            mode: self.pick(&[ReceiptsMode::Full, ReceiptsMode::Count, ReceiptsMode::Off]),
            read: u32::try_from(self.below(3)).expect("small"),
            total: u32::try_from(self.below(3)).expect("small"),
            readers_added: (0..self.below(3)).map(|_| self.uid()).collect(),
            version: super::hands::tally_version(u128::from(self.below(20)) << self.pick(&[0, 30, 90])),
        };
        TallyTold { uid: self.uid(), change }
    }

    /// The next one; now and then the last one again.
    pub fn operation(&mut self) -> Operation {
        if self.one_in(8)
            && let Some(last) = &self.last
        {
            return last.clone();
        }
        let operation = match self.below(100) {
            0..60 => Operation::Apply((0..=self.below(6)).map(|_| self.user_change()).collect()),
            60..75 => Operation::ApplyTallies((0..=self.below(4)).map(|_| self.tally()).collect()),
            75..84 => Operation::Begin(self.uid()),
            84..94 => Operation::Complete(self.uid()),
            94 => Operation::Forget(self.uid()),
            95 => Operation::Touch(self.uid()),
            96 if self.one_in(4) => Operation::ForgetAll,
            97 if self.one_in(4) => Operation::Lose(Loss::States),
            98 if self.one_in(8) => Operation::Lose(Loss::Restart),
            _ => Operation::Lose(Loss::Scripts),
        };
        self.last = Some(operation.clone());
        operation
    }
}
