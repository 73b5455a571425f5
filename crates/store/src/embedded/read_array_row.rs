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
