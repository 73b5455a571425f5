super::numeric::numeric_id!(
    /// The place of a message in its conversation: dense, from 1.
    ///
    /// At most 10^15, so that it is exact in every part it passes through (JavaScript, Lua, CQL
    /// timestamps). [`Seq::ZERO`] stands for "before the first message" in watermarks and floors; it is
    /// never read from outside as the seq of a message.
    Seq, "seq", 1, 1_000_000_000_000_000
);

/// Messages in one storage bucket: a screenful of messages is one or two buckets.
const BUCKET_SEQS: u64 = 128;

impl Seq {
    /// Before the first message.
    pub const ZERO: Self = Self(0);
    /// The last seq there can be.
    pub const LAST: Self = Self(Self::MAX);

    /// As [`Seq::new`], and zero too.
    ///
    /// # Errors
    /// [`super::IdError::Number`] above 10^15.
    pub const fn new_or_zero(n: u64) -> Result<Self, super::IdError> {
        if n == 0 { Ok(Self::ZERO) } else { Self::new(n) }
    }

    /// The next seq; the last one stays.
    #[must_use]
    pub const fn next(self) -> Self {
        if self.0 < Self::MAX { Self(self.0 + 1) } else { self }
    }

    /// The seq before, zero at the least.
    #[must_use]
    pub const fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// `self - n`, zero at the least.
    #[must_use]
    pub const fn back(self, n: u64) -> Self {
        Self(self.0.saturating_sub(n))
    }

    /// `self + n`, [`Seq::LAST`] at the most.
    #[must_use]
    pub const fn forward(self, n: u64) -> Self {
        let sum = self.0.saturating_add(n);
        if sum < Self::MAX { Self(sum) } else { Self::LAST }
    }

    /// The storage bucket of this seq.
    #[must_use]
    pub const fn bucket(self) -> u64 {
        self.0 / BUCKET_SEQS
    }

    /// First and last seq of a storage bucket (zero belongs to bucket 0).
    #[must_use]
    pub const fn bucket_bounds(bucket: u64) -> (Self, Self) {
        let first = bucket.saturating_mul(BUCKET_SEQS);
        let last = first.saturating_add(BUCKET_SEQS - 1);
        (
            Self(if first > Self::MAX { Self::MAX } else { first }),
            Self(if last > Self::MAX { Self::MAX } else { last }),
        )
    }
}

/// Serde for a seq that may be 0: "after which a member joined", watermarks and floors.
pub mod seq_or_zero {
    use super::Seq;
    use crate::id::numeric::NumericVisitor;

    /// Writes a decimal string.
    ///
    /// # Errors
    /// What the serializer says.
    pub fn serialize<S: serde::Serializer>(seq: &Seq, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(seq)
    }

    /// Reads a decimal string or a number, 0 included.
    ///
    /// # Errors
    /// Out of range or no number.
    pub fn deserialize<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Seq, D::Error> {
        deserializer.deserialize_any(NumericVisitor { id: "seq", min: 0, max: Seq::MAX }).map(Seq)
    }

    /// Its JSON Schema.
    pub fn schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": ["string", "integer"],
            "pattern": crate::id::numeric::pattern(0),
            "minimum": 0,
            "maximum": Seq::MAX,
            "description": "seq, or 0 for before the first message"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Seq;

    #[test]
    fn arithmetic_stays_within_the_range() {
        assert_eq!(Seq::LAST.next(), Seq::LAST);
        assert_eq!(Seq::LAST.forward(u64::MAX), Seq::LAST);
        assert_eq!(Seq::ZERO.previous(), Seq::ZERO);
        assert_eq!(Seq::ZERO.forward(3).back(5), Seq::ZERO);
        assert_eq!(Seq::new_or_zero(0), Ok(Seq::ZERO));
        assert!(Seq::new(0).is_err());
    }

    #[test]
    fn buckets_hold_128_seqs() {
        let bucket = |n| Seq::new_or_zero(n).unwrap().bucket();
        assert_eq!((bucket(127), bucket(128), bucket(1151), bucket(1152)), (0, 1, 8, 9));
        let (first, last) = Seq::bucket_bounds(8);
        assert_eq!((first.get(), last.get()), (1024, 1151));
        assert_eq!(Seq::bucket_bounds(u64::MAX), (Seq::LAST, Seq::LAST));
        assert!(Seq::bucket_bounds(Seq::LAST.bucket()).1 <= Seq::LAST);
    }
}
