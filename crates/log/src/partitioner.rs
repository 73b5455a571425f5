//! Kafka's default partitioner for keys (murmur2), so that any producer lands on the same partition.

/// The partition of `key` among `partitions`: `toPositive(murmur2(key)) % partitions`.
#[must_use]
pub fn partition_of(key: &[u8], partitions: u32) -> u32 {
    (murmur2(key) & 0x7fff_ffff) % partitions.max(1)
}

/// MurmurHash2, 32 bits, with the seed that Kafka's Java client uses.
fn murmur2(data: &[u8]) -> u32 {
    const SEED: u32 = 0x9747_b28c;
    const M: u32 = 0x5bd1_e995;
    let mut h = SEED ^ (data.len() as u32);
    let mut words = data.chunks_exact(4);
    for word in &mut words {
        let k = u32::from_le_bytes([word[0], word[1], word[2], word[3]]).wrapping_mul(M);
        let k = (k ^ (k >> 24)).wrapping_mul(M);
        h = h.wrapping_mul(M) ^ k;
    }
    let tail = words.remainder();
    if !tail.is_empty() {
        for (at, byte) in tail.iter().enumerate() {
            h ^= u32::from(*byte) << (8 * at);
        }
        h = h.wrapping_mul(M);
    }
    h = (h ^ (h >> 13)).wrapping_mul(M);
    h ^ (h >> 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of Apache Kafka's own `UtilsTest.testMurmur2`.
    #[test]
    fn agrees_with_the_java_client() {
        for (key, hash) in [
            ("21", -973_932_308_i32),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
        ] {
            assert_eq!(murmur2(key.as_bytes()) as i32, hash, "{key}");
        }
    }
}
