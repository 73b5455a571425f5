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

#[cfg(test)]
mod tests {
    use super::ReadMark;
    use crate::id::{Endpoint, Seq};
    use crate::time::TimeMs;

    fn mark(seq: u64, read_at: u64, endpoint: &str) -> ReadMark {
        ReadMark {
            seq: Seq::new_or_zero(seq).unwrap(),
            read_at: TimeMs::new(read_at).unwrap(),
            endpoint: Endpoint::new(endpoint).ok(),
        }
    }

    /// A1, A4, K2: the clock never decides over the seq.
    #[test]
    fn only_the_seq_decides() {
        let (ten, seven) = (mark(10, 100, "phone"), mark(7, 2_100, "pc"));
        assert_eq!(seven.clone().merge(ten.clone()), ten);
        assert_eq!(ten.clone().merge(seven), ten);
        assert_eq!(mark(10, 100, "a").merge(mark(10, 101, "")).read_at.get(), 101);
        assert_eq!(mark(10, 100, "a").merge(mark(10, 100, "b")), mark(10, 100, "b"));
        assert_eq!(ReadMark::default().merge(ten.clone()), ten);
    }

    #[test]
    fn an_equal_seq_is_no_rise() {
        let rises = |from, to| ReadMark::rises(Seq::new(from).unwrap(), Seq::new(to).unwrap());
        assert!(rises(9, 10) && !rises(10, 10) && !rises(10, 9));
    }
}
