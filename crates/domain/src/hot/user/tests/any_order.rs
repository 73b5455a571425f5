//! Facts told late, twice and in any order.

use super::{all, id, latest, present, read, seq, user};
use crate::hot::{Change, CountRange, Counted, MessageCount, News, User};
use crate::id::{ConversationId, Seq};
use crate::invariant::UnreadTotal;
use crate::register::Latest;
use crate::seq_ranges::SeqRanges;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What the store knows of one conversation.
#[derive(Debug, Clone, Default)]
struct Truth {
    head: u64,
    floor: u64,
    read: u64,
    uncounted: BTreeSet<u64>,
    mentions: BTreeSet<u64>,
    muted: Option<Latest>,
    closed: Option<Latest>,
}

impl Truth {
    fn counted(&self, range: CountRange) -> Counted {
        let within = |set: &BTreeSet<u64>| {
            set.range(range.floor.get() + 1..=range.head.get().max(range.floor.get()))
                .copied()
                .collect::<BTreeSet<_>>()
        };
        let (uncounted, mentions) = (within(&self.uncounted), within(&self.mentions));
        Counted {
            range,
            uncounted: uncounted.len() as u64,
            mentions: mentions.len() as u64,
            uncounted_mentions: mentions.intersection(&uncounted).count() as u64,
        }
    }

    /// Unread and mentions.
    fn counts(&self) -> (u64, u64) {
        if self.head <= self.floor {
            return (0, 0);
        }
        let counted = self.counted(CountRange { floor: seq(self.floor), head: seq(self.head) });
        (self.head - self.floor - counted.uncounted, counted.mentions - counted.uncounted_mentions)
    }
}

/// Unread, mentions and floor.
type Seen = BTreeMap<ConversationId, (MessageCount, MessageCount, Seq)>;

const NAMES: [&str; 3] = ["a", "b", "c"];

/// Something that happens: it is in the store, and is told, once or more often, now or later.
#[derive(Debug, Clone)]
enum Step {
    Messages {
        of: usize,
        count: u64,
        mention: bool,
    },
    Uncounted {
        of: usize,
        back: u64,
        count: u64,
    },
    Read {
        of: usize,
        back: u64,
    },
    Own {
        of: usize,
        back: u64,
    },
    Muted {
        of: usize,
        order: u64,
        value: bool,
    },
    Closed {
        of: usize,
        order: u64,
        value: bool,
    },
    /// Tells something of what waits.
    Tell {
        nth: usize,
    },
    /// Tells it and keeps it to be told again.
    TellAgain {
        nth: usize,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let of = 0..NAMES.len();
    let step = prop_oneof![
        3 => (of.clone(), 1u64..40, any::<bool>()).prop_map(|(of, count, mention)| Step::Messages { of, count, mention }),
        3 => (of.clone(), 0u64..90, 1u64..30).prop_map(|(of, back, count)| Step::Uncounted { of, back, count }),
        2 => (of.clone(), 0u64..120).prop_map(|(of, back)| Step::Read { of, back }),
        1 => (of.clone(), 0u64..120).prop_map(|(of, back)| Step::Own { of, back }),
        1 => (of.clone(), 0u64..5, any::<bool>()).prop_map(|(of, order, value)| Step::Muted { of, order, value }),
        1 => (of, 0u64..5, any::<bool>()).prop_map(|(of, order, value)| Step::Closed { of, order, value }),
        8 => (0usize..50).prop_map(|nth| Step::Tell { nth }),
        2 => (0usize..50).prop_map(|nth| Step::TellAgain { nth }),
    ];
    prop::collection::vec(step, 1..120)
}

struct World {
    truth: [Truth; NAMES.len()],
    waiting: Vec<(usize, Change)>,
    user: User,
}

impl World {
    fn new() -> Self {
        let rows: Vec<(&str, Change)> = NAMES.iter().map(|name| (*name, present(0, 0))).collect();
        Self { truth: Default::default(), waiting: Vec::new(), user: user(&rows) }
    }

    fn run(&mut self, step: Step) {
        let (of, change) = match step {
            Step::Messages { of, count, mention } => {
                let truth = &mut self.truth[of];
                let mentioned = truth.head + 1..=truth.head + count;
                truth.head += count;
                let head = Change { head: seq(truth.head), ..Change::default() };
                if !mention {
                    (of, head)
                } else {
                    truth.mentions.extend(mentioned.clone());
                    (of, head.with_mentions(&SeqRanges::from_seqs(mentioned.map(seq))))
                }
            }
            Step::Uncounted { of, back, count } => {
                let truth = &mut self.truth[of];
                let first = truth.head.saturating_sub(back) + 1;
                truth.uncounted.extend(first..first + count);
                (of, Change::default().with_uncounted(&SeqRanges::from_seqs((first..first + count).map(seq))))
            }
            Step::Read { of, back } => {
                let truth = &mut self.truth[of];
                truth.read = truth.read.max(truth.head.saturating_sub(back));
                truth.floor = truth.floor.max(truth.read);
                (of, Change { floor: seq(truth.floor), ..read(truth.read) })
            }
            Step::Own { of, back } => {
                let truth = &mut self.truth[of];
                truth.floor = truth.floor.max(truth.head.saturating_sub(back));
                (of, Change { floor: seq(truth.floor), ..Change::default() })
            }
            Step::Muted { of, order, value } => {
                self.truth[of].muted = self.truth[of].muted.max(Some(latest(order, value)));
                (of, Change { muted: Some(latest(order, value)), ..Change::default() })
            }
            Step::Closed { of, order, value } => {
                self.truth[of].closed = self.truth[of].closed.max(Some(latest(order, value)));
                (of, Change { closed: Some(latest(order, value)), ..Change::default() })
            }
            Step::Tell { nth } | Step::TellAgain { nth } => {
                if !self.waiting.is_empty() {
                    let (of, change) = self.waiting.swap_remove(nth % self.waiting.len());
                    if matches!(step, Step::TellAgain { .. }) {
                        self.waiting.push((of, change.clone()));
                    }
                    self.tell(of, &change);
                }
                return;
            }
        };
        self.waiting.push((of, change));
    }

    fn tell(&mut self, of: usize, change: &Change) {
        let mut applied = self.user.apply(&id(NAMES[of]), change);
        for round in 0.. {
            assert!(round < 9, "it must end: {applied:?}");
            let Some(range) = applied.to_count else { return };
            let counted = Change::of_counted(self.truth[of].counted(range), change.cause.clone());
            applied = self.user.apply(&id(NAMES[of]), &counted);
        }
    }

    /// What a device has that followed all entries from the first on.
    fn device(&self) -> (Seen, Option<[MessageCount; 2]>) {
        let (mut rows, mut totals) = (Seen::new(), None);
        for entry in all(&self.user) {
            match entry.news {
                News::ConversationRead {
                    conversation_id,
                    floor_seq,
                    unread,
                    mentions,
                    total_unread,
                    total_mentions,
                    ..
                }
                | News::UnreadChanged {
                    conversation_id,
                    floor_seq,
                    unread,
                    mentions,
                    total_unread,
                    total_mentions,
                    ..
                } => {
                    rows.insert(conversation_id, (unread, mentions, floor_seq));
                    totals = Some([total_unread, total_mentions]);
                }
                News::MessageRead { .. } => {}
            }
        }
        (rows, totals)
    }

    fn check(&self) {
        let picture = self.user.picture(None);
        let mut parts = Vec::new();
        for (name, truth) in NAMES.iter().zip(&self.truth) {
            let row = picture.rows.iter().find(|row| row.conversation_id == id(name));
            if Latest::value_of(truth.closed) {
                assert!(row.is_none(), "{name}: {row:?}");
                continue;
            }
            let row = row.unwrap_or_else(|| panic!("{name} has no row")).row;
            assert_eq!((row.unread.get(), row.mentions.get()), truth.counts(), "{name}: {truth:?}");
            assert_eq!(
                (row.head, row.floor, row.read),
                (seq(truth.head), seq(truth.floor), seq(truth.read)),
                "{name}"
            );
            parts.push(row.in_totals().0.get());
        }
        UnreadTotal { parts: &parts, total: picture.total.get() }.check().unwrap();
        let (rows, totals) = self.device();
        assert!(totals.is_none_or(|totals| totals == [picture.total, picture.total_mentions]));
        for row in &picture.rows {
            let seen = rows.get(&row.conversation_id).copied().unwrap_or_default();
            assert_eq!(seen, (row.row.unread, row.row.mentions, row.row.floor), "{:?}", row.conversation_id);
        }
    }
}

proptest! {
    /// Facts told late, twice and in any order end in the truth, in the picture and on a device that followed.
    #[test]
    fn any_order_ends_in_the_truth(steps in steps()) {
        let mut world = World::new();
        for step in steps {
            world.run(step);
        }
        while let Some((of, change)) = world.waiting.pop() {
            world.tell(of, &change);
        }
        world.check();
        // RR-6.
        let before = world.user.token();
        let told: Vec<_> = (0..NAMES.len()).map(|of| (of, world.truth[of].clone())).collect();
        for (of, truth) in told {
            let all = SeqRanges::from_seqs(truth.uncounted.iter().map(|n| seq(*n)));
            let again = Change { head: seq(truth.head), ..read(truth.read) }.with_uncounted(&all);
            world.tell(of, &again);
        }
        prop_assert_eq!(world.user.token(), before);
    }
}
