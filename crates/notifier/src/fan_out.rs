//! Fan-outs: everybody who must learn of a window, told in slices, each conversation in its turn.
//!
//! A round tells a few hundred users at most, so a message to 5,000 members takes many rounds, and one to a small
//! group is told in the next.

use crate::said::ForMembers;
use crate::windows::Window;
use readmark_domain::hot::Change;
use readmark_domain::id::{ConversationId, Uid};
use readmark_domain::register::Presence;
use readmark_domain::time::TimeMs;
use readmark_domain::window::Tier;
use readmark_hot::UserChange;
use readmark_log::{Position, TopicPartition};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Users told in one round: a few milliseconds of work for a hot state.
const ROUND_USERS: usize = 512;
/// Users that one conversation is given at its turn.
const SLICE_USERS: usize = 128;
/// Of these, those of whom a whole conversation may have to be read from the store.
const SLICE_JOINED: usize = 32;
/// Fan-outs at work at once, by size of group: what small ones wait behind is bounded, and the rest goes on merging.
const fn at_most(tier: Tier) -> usize {
    match tier {
        Tier::Small => 1_024,
        Tier::Medium => 64,
        // Of those, the members themselves may be millions.
        Tier::Large => 4,
    }
}

/// One user to be told.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    pub told: UserChange,
    /// It has joined: if it has a state, it must be told the whole conversation.
    pub joined: bool,
}

/// A window on its way to its members.
#[derive(Debug)]
pub(crate) struct FanOut {
    pub conversation_id: ConversationId,
    /// Records that are done when it is.
    pub positions: Vec<Position>,
    /// When the oldest of its messages was accepted.
    pub accepted_at: Option<TimeMs>,
    /// Somebody's devices can see it.
    pub is_seen: bool,
    /// It tells every member that the conversation is large.
    pub announces: bool,
    /// Its size when it began.
    tier: Tier,
    for_members: ForMembers,
    members: Arc<[Uid]>,
    next: usize,
    roster: Vec<(Uid, Presence)>,
}

impl FanOut {
    /// Of a window to these members.
    pub fn new(window: Window, is_large: bool, members: Arc<[Uid]>, announces: bool) -> Self {
        let for_members = window.said.for_members(is_large);
        Self {
            members: if for_members.is_some() { members } else { Arc::default() },
            for_members: for_members.unwrap_or_default(),
            roster: window.said.roster().collect(),
            conversation_id: window.conversation_id,
            positions: window.positions,
            accepted_at: window.accepted_at,
            is_seen: false,
            announces,
            tier: window.tier,
            next: 0,
        }
    }

    fn belongs_to(&self, partitions: &[TopicPartition]) -> bool {
        self.positions.iter().any(|position| partitions.contains(&position.partition))
    }

    fn is_told(&self) -> bool {
        self.next == self.members.len() && self.roster.is_empty()
    }

    /// Those whose turn it is.
    fn slice(&mut self, pieces: &mut Vec<Piece>) {
        let piece = |uid, change, joined| Piece {
            told: UserChange { uid, conversation_id: self.conversation_id.clone(), change },
            joined,
        };
        let from_roster = self.roster.len().min(SLICE_JOINED);
        for (uid, presence) in self.roster.drain(..from_roster) {
            // Only a whole change may say that somebody is present; whether there is a state to tell it to, an empty
            // one finds out.
            let joined = presence.is_present();
            let presence = Some(presence).filter(|_| !joined);
            pieces.push(piece(uid, Arc::new(Change { presence, ..Change::default() }), joined));
        }
        let to = self.members.len().min(self.next + SLICE_USERS - from_roster);
        for uid in &self.members[self.next..to] {
            pieces.push(piece(*uid, self.for_members.of(*uid), false));
        }
        self.next = to;
    }
}

/// All fan-outs at work, one per conversation.
#[derive(Debug, Default)]
pub(crate) struct FanOuts {
    waiting: VecDeque<FanOut>,
    /// Those whose last slice is in the round at work.
    ending: Vec<FanOut>,
    at_work: BTreeMap<ConversationId, Tier>,
}

impl FanOuts {
    /// May a window become a fan-out now?
    pub fn may_start(&self, window: &Window) -> bool {
        let at_work = self.at_work.values().filter(|tier| **tier == window.tier).count();
        at_work < at_most(window.tier) && !self.at_work.contains_key(&window.conversation_id)
    }

    /// Takes one over.
    pub fn start(&mut self, fan_out: FanOut) {
        self.at_work.insert(fan_out.conversation_id.clone(), fan_out.tier);
        self.waiting.push_back(fan_out);
    }

    /// Whom to tell next, of each conversation a slice in its turn.
    pub fn next_round(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        while pieces.len() + SLICE_USERS <= ROUND_USERS
            && let Some(mut fan_out) = self.waiting.pop_front()
        {
            fan_out.slice(&mut pieces);
            if fan_out.is_told() { self.ending.push(fan_out) } else { self.waiting.push_back(fan_out) }
        }
        pieces
    }

    /// Notes whose devices can see something of the round.
    pub fn note_seen(&mut self, seen: &BTreeSet<ConversationId>) {
        for fan_out in self.waiting.iter_mut().chain(&mut self.ending) {
            fan_out.is_seen |= seen.contains(&fan_out.conversation_id);
        }
    }

    /// The round is told: those that ended with it.
    pub fn take_ended(&mut self) -> Vec<FanOut> {
        let ended = std::mem::take(&mut self.ending);
        for fan_out in &ended {
            self.at_work.remove(&fan_out.conversation_id);
        }
        ended
    }

    /// Drops those of these partitions.
    pub fn forget(&mut self, partitions: &[TopicPartition]) {
        let at_work = &mut self.at_work;
        self.waiting.retain(|fan_out| {
            let is_dropped = fan_out.belongs_to(partitions);
            if is_dropped {
                at_work.remove(&fan_out.conversation_id);
            }
            !is_dropped
        });
    }

    /// Is one of these partitions at work?
    pub fn has_of(&self, partitions: &[TopicPartition]) -> bool {
        self.waiting.iter().any(|fan_out| fan_out.belongs_to(partitions))
    }

    /// Is nobody left to be told?
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How many are at work.
    pub fn len(&self) -> usize {
        self.at_work.len()
    }
}
