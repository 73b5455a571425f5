use crate::id::{Endpoint, Seq, seq_or_zero};
use crate::time::TimeMs;
use serde::{Deserialize, Serialize};

/// How far a user has read a conversation, when and where. Only the seq decides: the greatest wins; at an
/// equal seq the later time, then the greater endpoint, so that two writers always agree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct ReadMark {
    /// Highest seq read.
    #[serde(with = "seq_or_zero")]
    pub seq: Seq,
    /// When it was read.
    pub read_at: TimeMs,
    /// From which device.
    pub endpoint: Option<Endpoint>,
}

impl ReadMark {
    /// The further of two marks.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        self.max(other)
    }

    /// Does the mark rise when it goes from `from` to `to`? The one rule of a watermark (RR-3).
    #[must_use]
    pub fn rises(from: Seq, to: Seq) -> bool {
        to > from
    }
}
