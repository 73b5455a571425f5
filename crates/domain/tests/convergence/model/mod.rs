//! The whole product as a pure value: state, and what a fact makes of it. No orders of steps, no crashes
//! (the simulation has those): only the merges, in one place.

mod answers;
mod conversation_facts;
mod reader_facts;

pub use answers::Picture;

use crate::case::Fact;
use readmark_domain::counting::{Member, Message, MessageFlags, Roster};
use readmark_domain::fact::AckFact;
use readmark_domain::id::{ConversationId, Seq, Uid};
use readmark_domain::read_array::ReadArray;
use readmark_domain::register::{Latest, PolicySwitches, ReadMark, ReceiptsMode, UserSwitches};
use readmark_domain::time::TimeMs;
use readmark_domain::unread::{FloorParts, floor};
use readmark_domain::verdict::{Place, PlaceFacts, Retention, place};
use std::collections::BTreeMap;

/// What an installation without a policy allows.
pub const DEFAULT_MODE: ReceiptsMode = ReceiptsMode::Full;

/// A rule that can be left out, to see that the proof notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// What is not there yet waits.
    Parking,
    /// A message that comes late meets the marks that passed it.
    LateMessage,
    /// Receipts are dropped only when they can never count, not while receipts are off.
    DropOnlyForEver,
    /// `joined` is a maximum, not the last one told.
    JoinedIsMaximum,
    /// Who leaves and joins at one time has left.
    LeavingWinsTies,
}

impl Rule {
    pub const ALL: [Self; 5] = [
        Self::Parking,
        Self::LateMessage,
        Self::DropOnlyForEver,
        Self::JoinedIsMaximum,
        Self::LeavingWinsTies,
    ];
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sent {
    pub message: Option<Message>,
    pub mentions: Vec<Uid>,
    pub mention_all: bool,
    pub flags: MessageFlags,
    pub readers: ReadArray,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Registers {
    pub read: ReadMark,
    pub cleared: Seq,
    pub own: Seq,
    pub receipted: Seq,
    pub muted: Option<Latest>,
    pub marked_unread: Option<Latest>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conversation {
    pub head: Seq,
    pub imported_head: Seq,
    pub policy: PolicySwitches,
    pub closed: Option<Latest>,
    pub seqs: BTreeMap<Seq, Sent>,
    pub members: BTreeMap<Uid, Member>,
    pub users: BTreeMap<Uid, Registers>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct State {
    pub conversations: BTreeMap<ConversationId, Conversation>,
    pub settings: BTreeMap<Uid, UserSwitches>,
    /// What waits for a message or a head, as facts of one seq.
    pub parked: Vec<Fact>,
    pub dead: Vec<Fact>,
    /// Each user's sync stream: the newest version and what it said.
    pub streams: BTreeMap<Uid, (u64, Picture)>,
    pub left_out: Option<Rule>,
}

/// A receipt that was stored, new or known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub conversation_id: ConversationId,
    pub seq: Seq,
    pub reader: Uid,
}

/// What a fact led to, besides the state.
#[derive(Debug, Default)]
pub struct Effects {
    pub stored: Vec<Stored>,
    /// Versions appended to sync streams.
    pub appended: Vec<(Uid, u64)>,
}

impl State {
    pub fn new(left_out: Option<Rule>) -> Self {
        Self { left_out, ..Self::default() }
    }

    /// Takes a fact, then whatever waited for it, then tells the devices.
    pub fn apply(&mut self, fact: &Fact) -> Effects {
        let mut effects = Effects::default();
        self.take(fact, &mut effects);
        loop {
            let waiting = std::mem::take(&mut self.parked);
            for fact in &waiting {
                self.take(fact, &mut effects);
            }
            if self.parked == waiting {
                break;
            }
        }
        for user in self.known_users() {
            let picture = self.picture(user);
            let (version, told) = self.streams.entry(user).or_default();
            if *told != picture {
                (*version, *told) = (*version + 1, picture);
                effects.appended.push((user, *version));
            }
        }
        effects
    }

    fn take(&mut self, fact: &Fact, effects: &mut Effects) {
        match fact {
            Fact::ConversationEvents(fact) => self.take_conversation_fact(fact, effects),
            Fact::Acks(AckFact::Receipts(receipts)) => self.take_receipts(receipts, effects),
            Fact::Acks(AckFact::Recount(_)) => {}
            Fact::Marks(fact) => self.take_mark(fact, effects),
        }
    }

    fn park(&mut self, fact: Fact) {
        if self.left_out != Some(Rule::Parking) && !self.parked.contains(&fact) {
            self.parked.push(fact);
        }
    }

    fn bury(&mut self, fact: Fact) {
        if !self.dead.contains(&fact) {
            self.dead.push(fact);
        }
    }

    pub fn conversation(&mut self, id: &ConversationId) -> &mut Conversation {
        self.conversations.entry(id.clone()).or_default()
    }

    /// A user's member row. Whatever makes the row copies the user's switches into it.
    pub fn member(&mut self, id: &ConversationId, uid: Uid) -> &mut Member {
        let switches = self.settings.get(&uid).cloned().unwrap_or_default();
        let rows = &mut self.conversations.entry(id.clone()).or_default().members;
        let member = rows.entry(uid).or_insert_with(|| Member { uid, ..Member::default() });
        member.switches.merge(&switches);
        member
    }

    pub fn known_users(&self) -> Vec<Uid> {
        let rows = self.conversations.values().flat_map(|c| c.members.keys().chain(c.users.keys()));
        let mut users: Vec<Uid> = rows.copied().collect();
        users.sort_unstable();
        users.dedup();
        users
    }

    /// Since when the receipts of `reader` are dropped.
    fn newest_off(&self, reader: Uid) -> Option<TimeMs> {
        let switches = self.settings.get(&reader)?;
        if self.left_out == Some(Rule::DropOnlyForEver) && !switches.in_force(true) {
            return Some(TimeMs::saturating(u64::MAX));
        }
        switches.newest_off()
    }
}

impl Conversation {
    pub fn roster(&self) -> Roster {
        let members: Vec<Member> = self.members.values().cloned().collect();
        Roster::new(&members, &self.policy, DEFAULT_MODE)
    }

    pub fn user(&mut self, uid: Uid) -> &mut Registers {
        self.users.entry(uid).or_default()
    }

    pub fn floor_of(&self, uid: Uid) -> Seq {
        let user = self.users.get(&uid).cloned().unwrap_or_default();
        let joined = self.members.get(&uid).map(|member| member.joined).unwrap_or_default();
        floor(FloorParts { read: user.read.seq, joined, cleared: user.cleared, own: user.own })
    }

    fn place(&self, seq: Seq) -> Place {
        let sent = self.seqs.get(&seq).cloned().unwrap_or_default();
        let facts = PlaceFacts {
            message: sent.message,
            flags: sent.flags,
            bucket_newest_sent_at: None,
            head: self.head,
            imported_head: self.imported_head,
        };
        place(seq, facts, Retention::days(90), TimeMs::ZERO)
    }
}
