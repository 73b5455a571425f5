//! Who of a group owns which partition. All members live in this process, so a member that is gone is known
//! to be gone: there are no heartbeats.

use crate::port::Group;
use crate::record::TopicPartition;
use readmark_events::Topic;
use std::collections::{BTreeMap, BTreeSet};
use tokio::time::{Duration, Instant};

pub type MemberId = u64;

/// One unbroken ownership of a partition: what was begun under another tenure is void.
pub type Tenure = u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    /// The member has not been told yet.
    Given,
    Held,
    /// To be given back until then.
    Revoking {
        until: Instant,
        told: bool,
    },
}

#[derive(Debug, Default)]
struct Member {
    topics: BTreeSet<Topic>,
    owned: BTreeMap<TopicPartition, (Tenure, Hold)>,
    lost: Vec<TopicPartition>,
}

impl Member {
    /// Partitions it has and will keep.
    fn kept(&self) -> impl Iterator<Item = TopicPartition> {
        self.owned
            .iter()
            .filter(|(_, (_, hold))| !matches!(hold, Hold::Revoking { .. }))
            .map(|(partition, _)| *partition)
    }

    fn kept_of(&self, topic: Topic) -> usize {
        self.kept().filter(|partition| partition.topic == topic).count()
    }
}

/// What a member is to be told.
#[derive(Debug, PartialEq, Eq)]
pub enum News {
    Lost(Vec<TopicPartition>),
    Revoked(Vec<TopicPartition>),
    /// To be taken by [`Coordinator::take`] once their positions are known.
    Given(Vec<(TopicPartition, Tenure)>),
    None,
}

/// The groups of a log.
#[derive(Debug)]
pub struct Coordinator {
    partitions: u32,
    revoke_within: Duration,
    last_id: u64,
    groups: BTreeMap<Group, BTreeMap<MemberId, Member>>,
}

impl Coordinator {
    pub const fn new(partitions: u32, revoke_within: Duration) -> Self {
        Self { partitions, revoke_within, last_id: 0, groups: BTreeMap::new() }
    }

    pub fn join(&mut self, group: &Group, topics: &[Topic], now: Instant) -> MemberId {
        self.last_id += 1;
        let id = self.last_id;
        let member = Member { topics: topics.iter().copied().collect(), ..Member::default() };
        self.groups.entry(group.clone()).or_default().insert(id, member);
        self.balance(group, now);
        id
    }

    pub fn leave(&mut self, group: &Group, member: MemberId, now: Instant) {
        let Some(members) = self.groups.get_mut(group) else { return };
        members.remove(&member);
        if members.is_empty() {
            self.groups.remove(group);
        } else {
            self.balance(group, now);
        }
    }

    /// Takes away what was not given back in time; true when somebody has something new to hear.
    pub fn expire(&mut self, group: &Group, now: Instant) -> bool {
        let mut any = false;
        for member in self.groups.get_mut(group).into_iter().flat_map(BTreeMap::values_mut) {
            let late: Vec<TopicPartition> = member
                .owned
                .iter()
                .filter(|(_, (_, hold))| matches!(hold, Hold::Revoking { until, .. } if *until <= now))
                .map(|(partition, _)| *partition)
                .collect();
            for partition in late {
                member.owned.remove(&partition);
                member.lost.push(partition);
                any = true;
            }
        }
        if any {
            self.balance(group, now);
        }
        any
    }

    /// When the next revocation of the group runs out.
    pub fn next_deadline(&self, group: &Group) -> Option<Instant> {
        self.groups
            .get(group)?
            .values()
            .flat_map(|member| member.owned.values())
            .filter_map(|(_, hold)| match hold {
                Hold::Revoking { until, .. } => Some(*until),
                Hold::Given | Hold::Held => None,
            })
            .min()
    }

    /// What the member has to hear next.
    pub fn news(&mut self, group: &Group, member: MemberId) -> News {
        let Some(member) = self.member(group, member) else { return News::None };
        if !member.lost.is_empty() {
            return News::Lost(std::mem::take(&mut member.lost));
        }
        let mut revoked = Vec::new();
        let mut given = Vec::new();
        for (partition, (tenure, hold)) in &mut member.owned {
            match hold {
                Hold::Revoking { told, .. } if !*told => {
                    *told = true;
                    revoked.push(*partition);
                }
                Hold::Given => given.push((*partition, *tenure)),
                Hold::Held | Hold::Revoking { .. } => {}
            }
        }
        match (revoked.is_empty(), given.is_empty()) {
            (false, _) => News::Revoked(revoked),
            (true, false) => News::Given(given),
            (true, true) => News::None,
        }
    }

    /// The member has heard of them; gives those that are still meant for it.
    pub fn take(
        &mut self,
        group: &Group,
        member: MemberId,
        given: &[(TopicPartition, Tenure)],
    ) -> Vec<TopicPartition> {
        let Some(member) = self.member(group, member) else { return Vec::new() };
        let mut taken = Vec::new();
        for (partition, tenure) in given {
            if let Some((current, hold @ Hold::Given)) = member.owned.get_mut(partition)
                && current == tenure
            {
                *hold = Hold::Held;
                taken.push(*partition);
            }
        }
        taken
    }

    pub fn release(&mut self, group: &Group, member: MemberId, partitions: &[TopicPartition], now: Instant) {
        let Some(found) = self.member(group, member) else { return };
        for partition in partitions {
            if matches!(found.owned.get(partition), Some((_, Hold::Revoking { .. }))) {
                found.owned.remove(partition);
            }
        }
        self.balance(group, now);
    }

    /// May the member store positions of the partition?
    pub fn owns(&self, group: &Group, member: MemberId, partition: TopicPartition) -> bool {
        matches!(self.hold(group, member, partition), Some((_, Hold::Held | Hold::Revoking { .. })))
    }

    /// The tenure under which records of the partition may be handed to the member.
    pub fn reads(&self, group: &Group, member: MemberId, partition: TopicPartition) -> Option<Tenure> {
        match self.hold(group, member, partition)? {
            (tenure, Hold::Held) => Some(tenure),
            (_, Hold::Given | Hold::Revoking { .. }) => None,
        }
    }

    fn hold(&self, group: &Group, member: MemberId, partition: TopicPartition) -> Option<(Tenure, Hold)> {
        self.groups.get(group)?.get(&member)?.owned.get(&partition).copied()
    }

    fn member(&mut self, group: &Group, member: MemberId) -> Option<&mut Member> {
        self.groups.get_mut(group)?.get_mut(&member)
    }

    /// Gives away what nobody owns, then asks back what makes the loads differ by more than one. Everything
    /// else stays where it is.
    fn balance(&mut self, group: &Group, now: Instant) {
        let (partitions, until) = (self.partitions, now + self.revoke_within);
        let Some(members) = self.groups.get_mut(group) else { return };
        let mut last_id = self.last_id;
        let mut give = |members: &mut BTreeMap<MemberId, Member>, to: MemberId, partition: TopicPartition| {
            last_id += 1;
            if let Some(member) = members.get_mut(&to) {
                member.owned.insert(partition, (last_id, Hold::Given));
            }
        };
        let topics: BTreeSet<Topic> = members.values().flat_map(|member| member.topics.clone()).collect();
        for topic in topics {
            for partition in (0..partitions).map(|partition| TopicPartition { topic, partition }) {
                let is_owned = members.values().any(|member| member.owned.contains_key(&partition));
                if !is_owned && let Some(to) = lightest(members, topic) {
                    give(members, to, partition);
                }
            }
        }
        while let Some((from, partition, to)) = next_move(members) {
            let Some(donor) = members.get_mut(&from) else { break };
            match donor.owned.get_mut(&partition) {
                Some((_, Hold::Given)) => {
                    donor.owned.remove(&partition);
                    give(members, to, partition);
                }
                Some((_, hold)) => *hold = Hold::Revoking { until, told: false },
                None => break,
            }
        }
        self.last_id = last_id;
    }
}

fn lightest(members: &BTreeMap<MemberId, Member>, topic: Topic) -> Option<MemberId> {
    members
        .iter()
        .filter(|(_, member)| member.topics.contains(&topic))
        .min_by_key(|(_, member)| (member.kept().count(), member.kept_of(topic)))
        .map(|(id, _)| *id)
}

/// A partition to be moved so that loads come closer: from, which, to. What is being given back already
/// counts for the member that will get it.
fn next_move(members: &BTreeMap<MemberId, Member>) -> Option<(MemberId, TopicPartition, MemberId)> {
    let mut loads: BTreeMap<MemberId, usize> =
        members.iter().map(|(id, member)| (*id, member.kept().count())).collect();
    let revoking = members.values().flat_map(|member| {
        member
            .owned
            .iter()
            .filter(|(_, (_, hold))| matches!(hold, Hold::Revoking { .. }))
            .map(|(p, _)| p.topic)
    });
    for topic in revoking {
        let candidates = members.iter().filter(|(_, member)| member.topics.contains(&topic));
        if let Some(load) = candidates
            .map(|(id, _)| *id)
            .min_by_key(|id| loads.get(id).copied().unwrap_or(0))
            .and_then(|id| loads.get_mut(&id))
        {
            *load += 1;
        }
    }
    let load = |id: &MemberId| loads.get(id).copied().unwrap_or(0);
    let mut donors: Vec<MemberId> = members.keys().copied().collect();
    donors.sort_by_key(|id| std::cmp::Reverse(load(id)));
    for from in donors {
        let donor = members.get(&from)?;
        let best = members
            .iter()
            .filter(|(to, _)| load(to) + 2 <= load(&from))
            .flat_map(|(to, member)| {
                donor.kept().filter(|partition| member.topics.contains(&partition.topic)).map(
                    move |partition| {
                        let lead =
                            donor.kept_of(partition.topic).saturating_sub(member.kept_of(partition.topic));
                        (load(to), std::cmp::Reverse(lead), partition, *to)
                    },
                )
            })
            .min();
        if let Some((_, _, partition, to)) = best {
            return Some((from, partition, to));
        }
    }
    None
}

#[cfg(test)]
mod tests;
