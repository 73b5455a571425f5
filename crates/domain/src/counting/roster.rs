use super::{Member, Message};
use crate::id::{Seq, Uid};
use crate::register::{PolicySwitches, ReceiptsMode};
use crate::time::TimeMs;

/// Somebody who counts for messages above `joined` sent at or after `since`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Eligible {
    pub uid: Uid,
    joined: Seq,
    since: TimeMs,
}

impl Eligible {
    /// Does this member count for `message`? Joined before it, not its sender, receipts on since before it.
    pub fn counts_for(&self, message: &Message) -> bool {
        self.joined < message.seq && self.since <= message.sent_at && self.uid != message.sender_uid
    }
}

/// The members and switches of a conversation as read at one time, prepared for counting.
///
/// Members are never removed: who is absent stays in the stamp, so that the stamp only rises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roster {
    eligible: Vec<Eligible>,
    present: Vec<Uid>,
    mode: ReceiptsMode,
    stamp: u128,
}

impl Roster {
    /// From the rows of a conversation's members (any order) and its switches; `default` is the
    /// installation's policy for conversations without one.
    #[must_use]
    pub fn new(members: &[Member], policy: &PolicySwitches, default: ReceiptsMode) -> Self {
        let policy_since = policy.since(default);
        let mut eligible: Vec<Eligible> = members
            .iter()
            .filter(|member| member.is_present())
            .filter_map(|member| {
                let since = member.switches.since(true)?.max(policy_since?);
                Some(Eligible { uid: member.uid, joined: member.joined, since })
            })
            .collect();
        eligible.sort_unstable_by_key(|e| e.uid);
        let mut present: Vec<Uid> = members.iter().filter(|m| m.is_present()).map(|m| m.uid).collect();
        present.sort_unstable();
        Self { eligible, present, mode: policy.in_force(default), stamp: stamp(members, policy) }
    }

    /// How many members are present, counted or not: the size of the group.
    #[must_use]
    pub fn present_count(&self) -> u64 {
        self.present.len() as u64
    }

    /// Is `uid` a present member?
    #[must_use]
    pub fn is_present(&self, uid: Uid) -> bool {
        self.present.binary_search(&uid).is_ok()
    }

    /// Present members, ascending.
    #[must_use]
    pub fn present(&self) -> &[Uid] {
        &self.present
    }

    /// The policy in force.
    #[must_use]
    pub const fn mode(&self) -> ReceiptsMode {
        self.mode
    }

    /// What every change of roster or switches raises.
    pub(super) const fn stamp(&self) -> u128 {
        self.stamp
    }

    /// Does `uid` count for `message`?
    #[must_use]
    pub fn counts(&self, uid: Uid, message: &Message) -> bool {
        self.eligible
            .binary_search_by_key(&uid, |e| e.uid)
            .is_ok_and(|at| self.eligible[at].counts_for(message))
    }

    /// Everybody who counts for `message`, ascending.
    pub fn counting<'a>(&'a self, message: &'a Message) -> impl Iterator<Item = Uid> + 'a {
        self.eligible.iter().filter(|e| e.counts_for(message)).map(|e| e.uid)
    }

    pub(super) fn eligible(&self) -> &[Eligible] {
        &self.eligible
    }
}

/// The sum of (order key + 1) over the presence of every member and all switches of members and
/// conversation, plus `joined` of every member. Each part only rises, so any change raises the sum.
fn stamp(members: &[Member], policy: &PolicySwitches) -> u128 {
    let of_members: u128 = members
        .iter()
        .map(|member| {
            let presence = member.presence.map_or(0, |presence| u128::from(presence.key().get()) + 1);
            presence + u128::from(member.joined.get()) + member.switches.stamp()
        })
        .sum();
    of_members + policy.stamp()
}
