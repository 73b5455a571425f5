//! A chunk of a read array: when it expires, then its readers ascending, each as the distance from the one
//! before: 2 to 4 bytes a reader.

use super::codec::{Decoder, Encoder, Fault};
use super::table::Row;
use readmark_domain::id::Uid;
use readmark_domain::time::TimeMs;

/// A chunk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ReadArrayRow {
    pub expires_at: TimeMs,
    /// Ascending, each once.
    pub readers: Vec<Uid>,
}

impl ReadArrayRow {
    /// The union of both, which lives as long as the one that lives longer. `None` when nothing changes.
    pub fn union(&self, added: &Self) -> Option<Self> {
        let new: Vec<Uid> =
            added.readers.iter().filter(|uid| self.readers.binary_search(uid).is_err()).copied().collect();
        if new.is_empty() && added.expires_at <= self.expires_at {
            return None;
        }
        let mut readers = [self.readers.as_slice(), &new].concat();
        // Two sorted runs: the stable sort merges them in one pass.
        readers.sort();
        Some(Self { expires_at: self.expires_at.max(added.expires_at), readers })
    }
}

impl Row for ReadArrayRow {
    const BYTES: usize = 2_048;

    fn encode(&self, out: &mut Encoder) {
        out.number(self.expires_at.get());
        let mut before = 0;
        for uid in &self.readers {
            out.number(uid.get() - before);
            before = uid.get();
        }
    }

    fn decode(input: &mut Decoder<'_>) -> Result<Self, Fault> {
        let expires_at = input.time()?;
        let mut readers = Vec::new();
        let mut before = 0_u64;
        while !input.is_at_end() {
            let distance = input.number()?;
            if distance == 0 && !readers.is_empty() {
                return Err("a reader is there twice");
            }
            before = before.checked_add(distance).ok_or("a uid is out of range")?;
            readers.push(Uid::new(before).map_err(|_| "a uid is out of range")?);
        }
        Ok(Self { expires_at, readers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(expires_at: u64, uids: &[u64]) -> ReadArrayRow {
        let readers = uids.iter().map(|n| Uid::new(*n).unwrap()).collect();
        ReadArrayRow { expires_at: TimeMs::saturating(expires_at), readers }
    }

    #[test]
    fn known_readers_change_nothing() {
        let known = row(9, &[1, 5, 7]);
        assert_eq!(known.union(&row(9, &[1, 7])), None);
        assert_eq!(known.union(&row(8, &[5])), None);
        assert_eq!(known.union(&row(9, &[])), None);
    }

    #[test]
    fn new_readers_and_a_later_expiry_are_kept() {
        let known = row(9, &[1, 5, 7]);
        assert_eq!(known.union(&row(8, &[0, 5, 6, 8])), Some(row(9, &[0, 1, 5, 6, 7, 8])));
        assert_eq!(known.union(&row(10, &[5])), Some(row(10, &[1, 5, 7])));
        assert_eq!(row(0, &[]).union(&known), Some(known));
    }

    #[test]
    fn values_are_compact_and_come_back() {
        for uids in [vec![], vec![0], vec![0, 1, Uid::MAX], (1..=800).map(|n| n * 125_000).collect()] {
            let written = row(1_700_000_000_000, &uids);
            assert_eq!(ReadArrayRow::from_value(&written.to_value()), Ok(written));
        }
        let value = row(1_700_000_000_000, &(1..=800).map(|n| n * 125_000).collect::<Vec<_>>()).to_value();
        assert!(value.len() <= 3 * 800 + 8, "{} bytes for 800 readers among 100 million", value.len());
    }

    #[test]
    fn damaged_values_are_faults() {
        let mut twice = Encoder::with_capacity(0);
        for n in [9, 5, 0] {
            twice.number(n);
        }
        assert!(ReadArrayRow::from_value(&twice.finish()).is_err());
        let mut beyond = Encoder::with_capacity(0);
        for n in [9, Uid::MAX, 1] {
            beyond.number(n);
        }
        assert!(ReadArrayRow::from_value(&beyond.finish()).is_err());
    }
}
