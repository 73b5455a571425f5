//! Sets of seqs as sorted, disjoint, closed ranges.

use crate::id::Seq;
use serde::{Deserialize, Deserializer, Serialize};

/// One closed range, `first ..= last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct SeqRange([Seq; 2]);

impl SeqRange {
    /// `first ..= last`, or nothing when they are the wrong way round or start at zero.
    #[must_use]
    pub fn new(first: Seq, last: Seq) -> Option<Self> {
        (first <= last && first > Seq::ZERO).then_some(Self([first, last]))
    }

    /// First seq.
    #[must_use]
    pub const fn first(&self) -> Seq {
        self.0[0]
    }

    /// Last seq.
    #[must_use]
    pub const fn last(&self) -> Seq {
        self.0[1]
    }

    /// How many seqs, at least 1.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.0[1].get() - self.0[0].get() + 1
    }
}

impl<'de> Deserialize<'de> for SeqRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let [first, last] = <[Seq; 2]>::deserialize(deserializer)?;
        Self::new(first, last)
            .ok_or_else(|| serde::de::Error::custom("a range must be [first, last] with first ≤ last"))
    }
}

/// A set of seqs. In JSON: `[["1","4"],["9","9"]]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct SeqRanges(Vec<SeqRange>);

impl SeqRanges {
    /// The union of ranges in any order.
    pub fn from_ranges(mut ranges: Vec<SeqRange>) -> Self {
        ranges.sort_unstable_by_key(SeqRange::first);
        let mut merged: Vec<SeqRange> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match merged.last_mut() {
                Some(last) if range.first() <= last.last().next() => {
                    last.0[1] = last.last().max(range.last());
                }
                _ => merged.push(range),
            }
        }
        Self(merged)
    }

    /// The set of single seqs in any order; zeros are left out.
    pub fn from_seqs(seqs: impl IntoIterator<Item = Seq>) -> Self {
        Self::from_ranges(seqs.into_iter().filter_map(|seq| SeqRange::new(seq, seq)).collect())
    }

    /// The ranges, ascending.
    #[must_use]
    pub fn ranges(&self) -> &[SeqRange] {
        &self.0
    }

    /// Every seq, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Seq> + '_ {
        self.0
            .iter()
            .flat_map(|range| (range.first().get()..=range.last().get()).filter_map(|n| Seq::new(n).ok()))
    }

    /// How many seqs.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.iter().map(SeqRange::count).sum()
    }

    /// No seq at all?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Greatest seq.
    #[must_use]
    pub fn last(&self) -> Option<Seq> {
        self.0.last().map(SeqRange::last)
    }

    /// Smallest seq.
    #[must_use]
    pub fn first(&self) -> Option<Seq> {
        self.0.first().map(SeqRange::first)
    }

    /// In pieces of at most `max_seqs` seqs and `max_ranges` ranges each (both at least 1), ascending, so
    /// that each fits a record however the seqs are scattered.
    #[must_use]
    pub fn split(&self, max_seqs: u64, max_ranges: usize) -> Vec<Self> {
        let (max_seqs, max_ranges) = (max_seqs.max(1), max_ranges.max(1));
        let mut pieces = Vec::new();
        let (mut piece, mut seqs) = (Vec::new(), 0);
        for range in &self.0 {
            let mut rest = Some(*range);
            while let Some(range) = rest {
                if seqs == max_seqs || piece.len() == max_ranges {
                    pieces.push(Self(std::mem::take(&mut piece)));
                    seqs = 0;
                }
                let last = range.last().min(range.first().forward(max_seqs - seqs - 1));
                piece.push(SeqRange([range.first(), last]));
                seqs += last.get() - range.first().get() + 1;
                rest = SeqRange::new(last.next(), range.last()).filter(|_| last < range.last());
            }
        }
        if !piece.is_empty() {
            pieces.push(Self(piece));
        }
        pieces
    }

    /// Is `seq` in the set?
    #[must_use]
    pub fn contains(&self, seq: Seq) -> bool {
        let at = self.0.partition_point(|range| range.last() < seq);
        self.0.get(at).is_some_and(|range| range.first() <= seq)
    }
}

impl<'de> Deserialize<'de> for SeqRanges {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_ranges(Vec::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests {
    use super::{SeqRange, SeqRanges};
    use crate::id::Seq;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn ranges(pairs: &[(u64, u64)]) -> SeqRanges {
        let seq = |n| Seq::new(n).unwrap();
        SeqRanges::from_ranges(pairs.iter().map(|(a, b)| SeqRange::new(seq(*a), seq(*b)).unwrap()).collect())
    }

    #[test]
    fn overlapping_and_neighbouring_ranges_become_one() {
        assert_eq!(ranges(&[(9, 9), (1, 8)]), ranges(&[(1, 9)]));
        assert_eq!(ranges(&[(1, 8), (1, 10), (3, 4)]), ranges(&[(1, 10)]), "acks 1…8 and 1…10 overlap");
        assert_eq!(ranges(&[(5, 6), (1, 3)]).ranges().len(), 2);
        assert_eq!(ranges(&[(1, Seq::MAX), (Seq::MAX, Seq::MAX)]).count(), Seq::MAX);
    }

    #[test]
    fn a_range_from_outside_runs_upwards_from_one() {
        for (json, fine) in [
            (r#"[["1","4"],["9","9"]]"#, true),
            ("[[1,4]]", true),
            ("[]", true),
            (r#"[["4","1"]]"#, false),
            (r#"[["0","1"]]"#, false),
            (r#"[["1"]]"#, false),
            (r#"[["1","2","3"]]"#, false),
            (r#"["1"]"#, false),
            (r#"[["1","1000000000000001"]]"#, false),
        ] {
            assert_eq!(serde_json::from_str::<SeqRanges>(json).is_ok(), fine, "{json}");
        }
    }

    /// A few bytes may claim 10^15 seqs: reading, counting, splitting off and looking up must not walk them.
    #[test]
    fn the_widest_range_costs_no_more_than_a_narrow_one() {
        let json = format!("[{}]", vec![r#"["1","1000000000000000"]"#; 6_000].join(","));
        let all: SeqRanges = serde_json::from_str(&json).unwrap();
        assert_eq!((all.ranges().len(), all.count()), (1, Seq::MAX));
        assert!(all.contains(Seq::LAST));
        assert_eq!(all.iter().take(2).count(), 2);
        let huge = all.split(u64::MAX, 1);
        assert_eq!(huge, [all]);
    }

    #[test]
    fn pieces_keep_both_bounds() {
        let sizes = |set: &SeqRanges, seqs, ranges| {
            set.split(seqs, ranges).iter().map(SeqRanges::count).collect::<Vec<_>>()
        };
        assert_eq!(sizes(&ranges(&[(1, 25)]), 10, 9), [10, 10, 5]);
        assert_eq!(sizes(&ranges(&[(1, 4), (6, 20)]), 10, 9), [10, 9]);
        assert_eq!(sizes(&ranges(&[(1, 1), (3, 3), (5, 5)]), 10, 2), [2, 1]);
        assert_eq!(sizes(&ranges(&[(Seq::MAX - 1, Seq::MAX)]), 1, 1), [1, 1]);
        assert!(sizes(&SeqRanges::default(), 1, 1).is_empty());
    }

    proptest! {
        #[test]
        fn is_the_set_it_was_made_of(seqs in prop::collection::vec(1u64..60, 0..40), most in 1u64..9, few in 1usize..5) {
            let wanted: BTreeSet<u64> = seqs.iter().copied().collect();
            let set = SeqRanges::from_seqs(seqs.iter().map(|n| Seq::new(*n).unwrap()));
            prop_assert_eq!(set.iter().map(Seq::get).collect::<Vec<_>>(), wanted.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(set.count(), wanted.len() as u64);
            for n in 1..60 {
                prop_assert_eq!(set.contains(Seq::new(n).unwrap()), wanted.contains(&n));
            }
            let again: SeqRanges = serde_json::from_str(&serde_json::to_string(&set).unwrap()).unwrap();
            prop_assert_eq!(&again, &set);
            let pieces = set.split(most, few);
            prop_assert!(pieces.iter().all(|p| p.count() <= most && p.ranges().len() <= few && !p.is_empty()));
            prop_assert_eq!(SeqRanges::from_seqs(pieces.iter().flat_map(SeqRanges::iter)), set);
        }
    }
}
