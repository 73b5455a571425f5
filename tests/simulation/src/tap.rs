//! Where a left-out rule is left out: what one task's ports change on the way, and nothing without a mutation.

use crate::mutation::Mutation;
use crate::world::World;
use futures::FutureExt;
use readmark_domain::counting::Member;
use readmark_domain::fact::AckFact;
use readmark_domain::hot::Change;
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::register::{Switch, UserSwitches};
use readmark_domain::time::TimeMs;
use readmark_events::{Fact, ReadChanged, Topic, decode};
use readmark_hot::memory::MemoryHot;
use readmark_hot::{Held, HotState, UserChange};
use readmark_log::{NewRecord, Record};
use readmark_store::{Bucket, Raise, ReadArrayAdd, UserStore};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Which role a task runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoleKind {
    /// Conversation events.
    Catalog,
    /// Acks into read arrays.
    Aggregator,
    /// Marks.
    Watermark,
    /// What was applied, to hot states.
    Notifier,
    /// No role: a device that follows its user's stream.
    Device,
}

impl RoleKind {
    /// The roles.
    pub const ALL: [Self; 4] = [Self::Catalog, Self::Aggregator, Self::Watermark, Self::Notifier];
}

type Raises = Vec<(Uid, ConversationId, Raise)>;

#[derive(Default)]
struct TapState {
    /// Messages with something new to tell, or asked to be told again.
    to_tell: BTreeSet<(ConversationId, Seq)>,
    rosters: BTreeMap<ConversationId, (u64, Vec<Member>)>,
    held: Raises,
    not_raised: BTreeSet<(Uid, ConversationId)>,
}

/// How long a roster is believed when the rule is left out; the rule's own limit.
const ROSTER_GOOD_FOR_MS: u64 = 1_000;

/// One task's changes.
pub struct Tap {
    world: Arc<World>,
    role: RoleKind,
    mutation: Option<Mutation>,
    state: Mutex<TapState>,
}

impl Tap {
    /// Of a task that runs this role.
    #[must_use]
    pub fn new(world: Arc<World>, role: RoleKind, mutation: Option<Mutation>) -> Self {
        Self { world, role, mutation, state: Mutex::default() }
    }

    /// The rule left out.
    #[must_use]
    pub const fn mutation(&self) -> Option<Mutation> {
        self.mutation
    }

    fn is(&self, role: RoleKind, mutation: Mutation) -> bool {
        self.role == role && self.mutation == Some(mutation)
    }

    fn state(&self) -> MutexGuard<'_, TapState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records handed to the task.
    pub fn handed(&self, records: &[Record]) {
        if self.mutation.is_none() {
            return;
        }
        self.apply_held();
        for record in records.iter().filter(|record| record.position.partition.topic == Topic::Acks) {
            if let Some(AckFact::Recount(recount)) = fact(record.key.as_deref(), &record.payload) {
                let mut state = self.state();
                state.rosters.remove(&recount.conversation_id);
                let id = recount.conversation_id;
                state.to_tell.extend(recount.seqs.iter().map(|seq| (id.clone(), seq)));
            }
        }
    }

    /// Is this record not produced?
    pub fn swallows(&self, record: &NewRecord) -> bool {
        let Some(mutation) = self.mutation else { return false };
        self.apply_held();
        let key = Some(&record.key[..]);
        match mutation {
            Mutation::NoRecount => {
                matches!(fact(key, &record.payload), Some(AckFact::Recount(_))) && record.topic == Topic::Acks
            }
            Mutation::NoLateMessageRule => {
                self.role == RoleKind::Catalog
                    && record.topic == Topic::Acks
                    && matches!(fact(key, &record.payload), Some(AckFact::Receipts(_)))
            }
            Mutation::AnnounceOnlyNew => match fact(key, &record.payload) {
                Some(ReadChanged::MessageRead(told)) if record.topic == Topic::ReadChanged => {
                    !self.state().to_tell.remove(&(told.conversation_id, told.seq))
                }
                _ => false,
            },
            Mutation::TellOnlyRaisedMarks => match fact(key, &record.payload) {
                Some(ReadChanged::ConversationRead(told)) if record.topic == Topic::ReadChanged => {
                    self.state().not_raised.remove(&(told.uid, told.conversation_id))
                }
                _ => false,
            },
            Mutation::DropBySwitchInForce
            | Mutation::RecountUpToHead
            | Mutation::OffsetBeforeWork
            | Mutation::OwnAfterHead
            | Mutation::ClaimedAfterLook
            | Mutation::RosterNotReadAgain
            | Mutation::ReceiptedBeforeExpansion
            | Mutation::NotifierOffsetBeforeTold
            | Mutation::JoinedNotToldWhole
            | Mutation::MembersNotReadAgain
            | Mutation::OwnNotTold
            | Mutation::LargeNotAnnounced
            | Mutation::NumbersNotCounted
            | Mutation::RebuildTakesNoFacts
            | Mutation::EpochKept
            | Mutation::LostRecordsNotMissed => false,
        }
    }

    /// Receipts the task adds.
    pub fn adds(&self, adds: &[ReadArrayAdd]) {
        if self.mutation.is_none() {
            return;
        }
        let mut state = self.state();
        for add in adds {
            state.to_tell.insert((add.conversation_id.clone(), add.seq));
        }
    }

    /// The newest buckets as the task gets them: only recounts ask for them.
    pub fn newest_buckets(&self, buckets: Vec<Bucket>) -> Vec<Bucket> {
        if self.mutation == Some(Mutation::RecountUpToHead) { Vec::new() } else { buckets }
    }

    /// Are positions stored when records are handed over?
    pub fn stores_before_work(&self) -> bool {
        self.mutation == Some(Mutation::OffsetBeforeWork)
            || self.is(RoleKind::Notifier, Mutation::NotifierOffsetBeforeTold)
    }

    /// A change as it reaches the hot state, if it does.
    pub async fn told(&self, hot: &MemoryHot, told: &UserChange) -> Option<UserChange> {
        let change = |change: Change| Some(UserChange { change: Arc::new(change), ..told.clone() });
        let said = &told.change;
        match self.mutation.filter(|_| self.role == RoleKind::Notifier) {
            Some(Mutation::JoinedNotToldWhole) if said.presence.is_some() => {
                change(Change { presence: said.presence, ..Change::default() })
            }
            Some(Mutation::OwnNotTold) if said.head > Seq::ZERO && said.presence.is_none() => {
                change(Change { floor: Seq::ZERO, ..Change::clone(said) })
            }
            Some(Mutation::LargeNotAnnounced) if said.presence.is_none() => {
                change(Change { is_large: false, ..Change::clone(said) })
            }
            Some(Mutation::RebuildTakesNoFacts)
                if matches!(hot.picture(told.uid, None).await, Ok(Held::Incomplete)) =>
            {
                None
            }
            _ => Some(told.clone()),
        }
    }

    /// A roster as the task gets it.
    pub fn members(&self, id: &ConversationId, members: Vec<Member>) -> Vec<Member> {
        if self.is(RoleKind::Aggregator, Mutation::RosterNotReadAgain)
            || self.is(RoleKind::Notifier, Mutation::MembersNotReadAgain)
        {
            let now_ms = self.world.elapsed_ms();
            let mut state = self.state();
            let (read_at_ms, known) = state.rosters.entry(id.clone()).or_insert((now_ms, members.clone()));
            if now_ms - *read_at_ms >= ROSTER_GOOD_FOR_MS {
                (*read_at_ms, *known) = (now_ms, members);
            }
            return known.clone();
        }
        if self.is(RoleKind::Aggregator, Mutation::DropBySwitchInForce) {
            return members.into_iter().map(dropping_while_off).collect();
        }
        members
    }

    /// Registers the task raises: those to be written now.
    pub fn raises(&self, uid: Uid, id: &ConversationId, raises: &[Raise]) -> Vec<Raise> {
        let Some(mutation) = self.mutation else { return raises.to_vec() };
        if self.is(RoleKind::Watermark, Mutation::TellOnlyRaisedMarks) {
            self.note_not_raised(uid, id, raises);
        }
        let held = |raise: &Raise| {
            (mutation == Mutation::OwnAfterHead && matches!(raise, Raise::Own(_)))
                || (mutation == Mutation::ClaimedAfterLook && matches!(raise, Raise::Claimed(_)))
        };
        if mutation == Mutation::ReceiptedBeforeExpansion
            && let Some(Raise::Claimed(seq)) = raises.iter().find(|raise| matches!(raise, Raise::Claimed(_)))
        {
            self.state().held.push((uid, id.clone(), Raise::Receipted(*seq)));
        }
        let (later, now): (Vec<Raise>, Vec<Raise>) = raises.iter().cloned().partition(held);
        self.state().held.extend(later.into_iter().map(|raise| (uid, id.clone(), raise)));
        if now.iter().any(|raise| matches!(raise, Raise::Receipted(_))) {
            self.apply_held_now();
        }
        now
    }

    fn note_not_raised(&self, uid: Uid, id: &ConversationId, raises: &[Raise]) {
        let row = self.world.truth.user_conversation(uid, id).now_or_never().and_then(Result::ok).flatten();
        let read = row.unwrap_or_default().read.seq;
        let rises = raises.iter().any(|raise| matches!(raise, Raise::Read { seq, .. } if *seq > read));
        if rises {
            self.state().not_raised.remove(&(uid, id.clone()));
        } else {
            self.state().not_raised.insert((uid, id.clone()));
        }
    }

    /// The task has read a user's row.
    pub fn row_read(&self) {
        if self.mutation == Some(Mutation::ReceiptedBeforeExpansion) {
            self.apply_held_now();
        }
    }

    /// The task has raised a head.
    pub fn head_raised(&self) {
        if self.mutation == Some(Mutation::OwnAfterHead) {
            self.apply_held_now();
        }
    }

    /// What is held is written at the latest before the task goes on to something else.
    fn apply_held(&self) {
        let at_once = [Mutation::OwnAfterHead, Mutation::ReceiptedBeforeExpansion];
        if self.mutation.is_some_and(|mutation| at_once.contains(&mutation)) {
            self.apply_held_now();
        }
    }

    fn apply_held_now(&self) {
        let held = std::mem::take(&mut self.state().held);
        for (uid, id, raise) in held {
            let _ = self.world.truth.raise(uid, &id, &[raise]).now_or_never();
        }
    }

    /// The task stores positions: what is held is late, not lost.
    pub fn commits(&self) {
        self.apply_held_now();
    }
}

/// With the newest switch to off, while it is in force, at the end of time: nothing is stored any more, and
/// the tally and its version stay as they are.
fn dropping_while_off(mut member: Member) -> Member {
    if member.switches.since(true).is_none() {
        let last = member.switches.iter().last().copied();
        let switches: UserSwitches = member
            .switches
            .iter()
            .map(|switch| match last {
                Some(last) if last == *switch => {
                    Switch { occurred_at: TimeMs::saturating(u64::MAX), ..*switch }
                }
                _ => *switch,
            })
            .collect();
        member.switches = switches;
    }
    member
}

fn fact<F: Fact>(key: Option<&[u8]>, payload: &[u8]) -> Option<F> {
    decode(key, payload).ok()
}
