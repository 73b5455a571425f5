//! Partitions that a group has given to nobody.
//!
//! What goes from one member to another goes in two rounds: the first leaves its owner without it, the second, which that
//! owner asks for, gives it to the other. When the owner is killed between them and comes back under its name, its group,
//! which has settled, gives it what the first round left it with, and nobody asks for the second. What it gave up then
//! is nobody's until a member comes or goes. So each member looks now and then, and joins again when it finds such ones.

use super::names::Names;
use crate::record::TopicPartition;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext};
use rdkafka::groups::GroupInfo;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

/// How often a member looks. One question to each broker; what it finds has been lost for minutes without it.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// How long the brokers may take to answer a question of a look; nothing is polled meanwhile.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(1);

/// How much longer than a rebalance may take partitions must have been nobody's.
const PATIENCE: Duration = Duration::from_secs(5);

/// Members that see the same do not all act at once: each waits up to so much longer.
const SPREAD_MS: u64 = 5_000;

/// What a look has shown.
pub(super) struct Seen {
    /// The brokers have answered, and nothing is on its way from one member to another.
    pub is_settled: bool,
    /// Partitions that have been nobody's for so long that the member must join again.
    pub nobodys: Option<BTreeSet<TopicPartition>>,
}

/// One member's look at its group.
pub(super) struct Coverage {
    group: String,
    /// All partitions of the topics that the group consumes.
    all: BTreeSet<TopicPartition>,
    patience: Duration,
    looked_at: Instant,
    /// What was nobody's at the last look, and since when it has been the same.
    nobodys: (BTreeSet<TopicPartition>, Instant),
}

impl Coverage {
    /// `rebalance_within`: how long a member may keep what it is to give back.
    pub(super) fn new(group: &str, all: BTreeSet<TopicPartition>, rebalance_within: Duration) -> Self {
        let spread = Duration::from_millis(RandomState::new().hash_one(group) % SPREAD_MS);
        let now = Instant::now();
        Self {
            group: group.to_owned(),
            all,
            patience: rebalance_within + PATIENCE + spread,
            looked_at: now,
            nobodys: (BTreeSet::new(), now),
        }
    }

    /// Is it time for a look?
    pub(super) fn is_due(&self) -> bool {
        self.looked_at.elapsed() >= LOOK_EVERY
    }

    /// Looks.
    pub(super) fn look<C: ConsumerContext>(&mut self, consumer: &BaseConsumer<C>, names: &Names) -> Seen {
        // No answer, or a group that has not settled, says nothing.
        let owned = match consumer.fetch_group_list(Some(&self.group), ANSWER_WITHIN) {
            Ok(list) => list
                .groups()
                .iter()
                .find(|found| found.name() == self.group)
                .and_then(|found| owned(found, names)),
            Err(error) => {
                tracing::debug!(%error, "the group was not described");
                None
            }
        };
        self.looked_at = Instant::now();
        Seen { is_settled: owned.is_some(), nobodys: self.judge(owned, self.looked_at) }
    }

    fn judge(
        &mut self,
        owned: Option<BTreeSet<TopicPartition>>,
        now: Instant,
    ) -> Option<BTreeSet<TopicPartition>> {
        let nobodys = owned.map_or_else(BTreeSet::new, |owned| &self.all - &owned);
        if nobodys != self.nobodys.0 {
            self.nobodys = (nobodys, now);
        }
        let (nobodys, since) = &mut self.nobodys;
        if nobodys.is_empty() || now.duration_since(*since) < self.patience {
            return None;
        }
        *since = now;
        Some(nobodys.clone())
    }
}

/// What the members of a settled group own; `None` while it settles, or when a member can't be read.
fn owned(group: &GroupInfo, names: &Names) -> Option<BTreeSet<TopicPartition>> {
    if group.state() != "Stable" {
        return None;
    }
    let mut all = BTreeSet::new();
    for member in group.members() {
        all.extend(Assignment(member.assignment()?).partitions(names)?);
    }
    Some(all)
}

/// An assignment as the members of a group agree on it, `ConsumerProtocolAssignment` in Kafka's message definitions: the
/// version, then topics, each with its partitions. What may follow is of no interest here.
struct Assignment<'a>(&'a [u8]);

impl Assignment<'_> {
    fn partitions(mut self, names: &Names) -> Option<BTreeSet<TopicPartition>> {
        let mut found = BTreeSet::new();
        self.bytes::<2>()?;
        for _ in 0..i32::from_be_bytes(self.bytes()?) {
            let length = usize::from(u16::from_be_bytes(self.bytes()?));
            let (name, rest) = self.0.split_at_checked(length)?;
            self.0 = rest;
            let name = std::str::from_utf8(name).ok()?;
            for _ in 0..i32::from_be_bytes(self.bytes()?) {
                let partition = i32::from_be_bytes(self.bytes()?);
                // Of a topic that is not ours: another program's member, which owns nothing of ours.
                found.extend(names.partition(name, partition));
            }
        }
        Some(found)
    }

    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmark_events::Topic;

    fn at(partition: u32) -> TopicPartition {
        TopicPartition { topic: Topic::Acks, partition }
    }

    #[test]
    fn an_assignment_is_read() {
        let name = "r.acks.v1";
        let mut bytes = vec![0, 3, 0, 0, 0, 1, 0, 9];
        bytes.extend(name.as_bytes());
        bytes.extend([0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0]);
        let read = |bytes| Assignment(bytes).partitions(&Names::new("r"));
        assert_eq!(read(&bytes), Some(BTreeSet::from([at(0), at(257)])));
        assert_eq!(read(&[0, 1, 0, 0, 0, 0]), Some(BTreeSet::new()));
        for end in 0..bytes.len() - 4 {
            assert_eq!(read(&bytes[..end]), None, "{end} bytes");
        }
        let other = Names::new("s");
        assert_eq!(Assignment(&bytes).partitions(&other), Some(BTreeSet::new()));
    }

    #[test]
    fn only_what_stays_nobodys_is_told_and_then_again_after_as_long() {
        let all = BTreeSet::from([at(0), at(1)]);
        let mut coverage = Coverage::new("g", all.clone(), Duration::from_secs(10));
        let (start, half) = (Instant::now(), Some(BTreeSet::from([at(1)])));
        let mut told = |owned: &Option<BTreeSet<TopicPartition>>, s: u64| {
            coverage.judge(owned.clone(), start + Duration::from_secs(s))
        };
        assert_eq!(told(&half, 0), None);
        assert_eq!(told(&half, 14), None, "a rebalance may last");
        assert_eq!(told(&Some(all), 19), None);
        assert_eq!(told(&half, 20), None, "it begins anew");
        assert_eq!(told(&None, 30), None, "not settled");
        assert_eq!(told(&half, 31), None);
        assert_eq!(told(&half, 51), Some(BTreeSet::from([at(0)])));
        assert_eq!(told(&half, 52), None);
        assert_eq!(told(&half, 72), Some(BTreeSet::from([at(0)])));
    }
}
