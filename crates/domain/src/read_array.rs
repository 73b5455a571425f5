//! The readers of one message: a grow-only set.

use crate::id::Uid;

/// Readers a chunk of a read array is meant to hold: ScyllaDB rewrites a collection cell at every add, so
/// a set stays small.
const READERS_PER_CHUNK: u64 = 512;

/// Most chunks of one read array: whoever reads, reads them all.
const MAX_CHUNKS: u16 = 1_024;

/// How many chunks the read array of a message gets that is sent to `members` present members.
#[must_use]
pub fn chunks_for(members: u64) -> u16 {
    let chunks = members.div_ceil(READERS_PER_CHUNK).clamp(1, u64::from(MAX_CHUNKS));
    u16::try_from(chunks).unwrap_or(MAX_CHUNKS)
}

/// The chunk of a reader: a fixed function for ever, since it says where stored receipts are.
#[must_use]
pub const fn chunk_of(reader: Uid, chunks: u16) -> u16 {
    // The finaliser of SplitMix64 spreads neighbouring uids over all chunks.
    let mut x = reader.get();
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^= x >> 31;
    let chunks = if chunks == 0 { 1 } else { chunks as u64 };
    (x % chunks) as u16
}

/// The readers of one message, sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadArray(Vec<Uid>);

impl FromIterator<Uid> for ReadArray {
    fn from_iter<I: IntoIterator<Item = Uid>>(readers: I) -> Self {
        let mut readers: Vec<Uid> = readers.into_iter().collect();
        readers.sort_unstable();
        readers.dedup();
        Self(readers)
    }
}

impl ReadArray {
    /// The readers, ascending.
    #[must_use]
    pub fn readers(&self) -> &[Uid] {
        &self.0
    }

    /// How many readers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Nobody?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Has `reader` read it?
    #[must_use]
    pub fn contains(&self, reader: Uid) -> bool {
        self.0.binary_search(&reader).is_ok()
    }

    /// Adds readers; gives back those that were new, ascending.
    pub fn add(&mut self, readers: impl IntoIterator<Item = Uid>) -> Vec<Uid> {
        let mut new: Vec<Uid> = readers.into_iter().filter(|reader| !self.contains(*reader)).collect();
        new.sort_unstable();
        new.dedup();
        if !new.is_empty() {
            self.0.extend_from_slice(&new);
            // Two ascending runs: the stable sort merges them in one pass.
            self.0.sort();
        }
        new
    }

    /// The union with another copy of the set.
    pub fn merge(&mut self, other: &Self) {
        self.add(other.0.iter().copied());
    }
}

#[cfg(test)]
mod tests {
    use super::{ReadArray, chunk_of, chunks_for};
    use crate::id::Uid;

    fn uid(n: u64) -> Uid {
        Uid::new(n).unwrap()
    }

    #[test]
    fn a_reader_is_there_once() {
        let mut array: ReadArray = [uid(3), uid(1), uid(3)].into_iter().collect();
        assert_eq!(array.add([uid(2), uid(3), uid(2)]), [uid(2)], "only what was new, once");
        assert_eq!(array.readers(), [uid(1), uid(2), uid(3)]);
        assert!(array.add([uid(1)]).is_empty());
        assert!(array.contains(uid(2)) && !array.contains(uid(4)));
        let mut other: ReadArray = [uid(9), uid(1)].into_iter().collect();
        other.merge(&array);
        assert_eq!(other.readers(), [uid(1), uid(2), uid(3), uid(9)]);
    }

    #[test]
    fn chunks_grow_with_the_group() {
        let wanted = [(0, 1), (1, 1), (512, 1), (513, 2), (5_000, 10), (50_000, 98), (u64::MAX, 1_024)];
        for (members, chunks) in wanted {
            assert_eq!(chunks_for(members), chunks, "{members} members");
        }
    }

    /// Stored receipts are where this function said: a change of it would lose them.
    #[test]
    fn the_chunk_of_a_reader_is_fixed_for_ever() {
        let chunks: Vec<u16> =
            [0, 1, 2, 7, 1_000_000, i64::MAX as u64].map(|n| chunk_of(uid(n), 98)).to_vec();
        assert_eq!(chunks, [0, 27, 8, 16, 12, 31]);
        assert_eq!(chunk_of(uid(5), 0), 0);
        assert_eq!(chunk_of(uid(5), 1), 0);
    }

    #[test]
    fn neighbouring_readers_spread_over_all_chunks() {
        let mut sizes = [0u32; 98];
        for n in 0..50_000 {
            sizes[usize::from(chunk_of(uid(n), 98))] += 1;
        }
        assert!(sizes.iter().all(|size| (400..640).contains(size)), "{sizes:?}");
    }
}
