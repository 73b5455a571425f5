use super::counted::Counted;
use crate::id::{Endpoint, Seq};
use crate::register::{Latest, Presence};
use crate::seq_ranges::SeqRanges;
use crate::time::TimeMs;

/// Uncounted seqs, and mentions, kept above the floor of one conversation; with more, numbers take their place.
pub const SEQS_MAX: usize = 64;

/// What a change says of seqs: one more than [`SEQS_MAX`], so that the receiver knows that there are too many.
pub const SAID_MAX: usize = SEQS_MAX + 1;

/// Why something changed, which decides what kind of entry tells it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Cause {
    /// The user has read or cleared, from this device.
    Read(Option<Endpoint>),
    /// Anything else.
    #[default]
    Other,
}

/// What is said of one user in one conversation; what is zero or `None` says nothing. Merging is by maximum, and
/// of registers with an order the greatest wins, so a change may be told late, twice and in any order.
///
/// A fact says what it changed. A *whole* change says all that the store knows ([`Change::base`] tells how): it is
/// what a rebuild tells, and what must be told when a user joins, since nobody told it the conversation before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Change {
    /// The newest seq.
    pub head: Seq,
    /// When it was sent.
    pub newest_sent_at: TimeMs,
    /// The conversation has become large; it stays so.
    pub is_large: bool,
    /// The watermark.
    pub read: Seq,
    /// The seq up to which nothing is unread: the greatest of read, joined, cleared and own message.
    pub floor: Seq,
    /// Present or absent. Only a whole change may say "present".
    pub presence: Option<Presence>,
    /// Closed or open.
    pub closed: Option<Latest>,
    /// Marked by hand.
    pub marked_unread: Option<Latest>,
    /// Left out of the totals.
    pub muted: Option<Latest>,
    /// Seqs that count as unread for nobody.
    pub uncounted: GreatestSeqs,
    /// Seqs that mention the user.
    pub mentions: GreatestSeqs,
    /// What the store counted.
    pub counted: Option<Counted>,
    /// In a whole change that could not list all its seqs (more than [`SEQS_MAX`]): up to here they are in
    /// `counted` only. Else zero.
    pub base: Seq,
    /// Why.
    pub cause: Cause,
}

impl Change {
    /// With seqs that count as unread for nobody.
    #[must_use]
    pub fn with_uncounted(mut self, seqs: &SeqRanges) -> Self {
        self.uncounted = GreatestSeqs::of(seqs);
        self
    }

    /// With seqs that mention the user.
    #[must_use]
    pub fn with_mentions(mut self, seqs: &SeqRanges) -> Self {
        self.mentions = GreatestSeqs::of(seqs);
        self
    }

    /// With numbers in place of seqs, in a whole change.
    #[must_use]
    pub const fn with_counted_only(mut self, counted: Counted) -> Self {
        self.base = counted.range.head;
        self.counted = Some(counted);
        self
    }

    /// The numbers that an answer asked to be counted.
    #[must_use]
    pub fn of_counted(counted: Counted, cause: Cause) -> Self {
        Self { counted: Some(counted), cause, ..Self::default() }
    }

    /// Seqs that count as unread for nobody, ascending.
    #[must_use]
    pub fn uncounted(&self) -> &[Seq] {
        self.uncounted.as_slice()
    }

    /// Seqs that mention the user, ascending.
    #[must_use]
    pub fn mentions(&self) -> &[Seq] {
        self.mentions.as_slice()
    }
}

/// Seqs, ascending. Of many only the greatest [`SAID_MAX`] are kept: so many above a floor make the receiver count in
/// the store, and those at or below it say nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GreatestSeqs(Vec<Seq>);

impl GreatestSeqs {
    /// The greatest of these; a range of 10^15 seqs costs no more than a short one.
    #[must_use]
    pub fn of(seqs: &SeqRanges) -> Self {
        let mut kept: Vec<Seq> = Vec::new();
        for range in seqs.ranges().iter().rev() {
            let mut seq = range.last();
            while kept.len() < SAID_MAX && seq >= range.first() && seq > Seq::ZERO {
                kept.push(seq);
                seq = seq.previous();
            }
        }
        kept.reverse();
        Self(kept)
    }

    /// They, ascending.
    #[must_use]
    pub fn as_slice(&self) -> &[Seq] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, SAID_MAX};
    use crate::id::Seq;
    use crate::seq_ranges::{SeqRange, SeqRanges};

    #[test]
    fn of_many_seqs_the_greatest_are_said() {
        let range = |first, last| SeqRange::new(Seq::new(first).unwrap(), Seq::new(last).unwrap()).unwrap();
        let said = |ranges: &[(u64, u64)]| {
            let ranges = ranges.iter().map(|(a, b)| range(*a, *b)).collect();
            let change = Change::default().with_uncounted(&SeqRanges::from_ranges(ranges));
            change.uncounted().iter().map(|seq| seq.get()).collect::<Vec<_>>()
        };
        assert_eq!(said(&[(3, 4), (9, 9), (1, 1)]), [1, 3, 4, 9]);
        assert_eq!(said(&[]), [0; 0]);
        let wide = said(&[(1, Seq::MAX - 3), (Seq::MAX, Seq::MAX)]);
        assert_eq!((wide.len(), wide[0], wide[64]), (SAID_MAX, Seq::MAX - 66, Seq::MAX));
    }
}
