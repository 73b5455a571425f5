use crate::id::Seq;

/// The seqs `(floor, head]` of a conversation, to be counted in the store for one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountRange {
    /// Above this one.
    pub floor: Seq,
    /// Up to and with this one.
    pub head: Seq,
}

/// What the store counted in a range. Each number only grows while the range is the same, so of two the greater is
/// the newer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Where.
    pub range: CountRange,
    /// Seqs that count as unread for nobody: recalled, skipped, not countable.
    pub uncounted: u64,
    /// Seqs that mention the user, uncounted ones too.
    pub mentions: u64,
    /// Seqs that mention the user and are uncounted.
    pub uncounted_mentions: u64,
}

impl Counted {
    /// The greater of two that were counted in one range, each number by itself.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            range: self.range,
            uncounted: self.uncounted.max(other.uncounted),
            mentions: self.mentions.max(other.mentions),
            uncounted_mentions: self.uncounted_mentions.max(other.uncounted_mentions),
        }
    }
}
