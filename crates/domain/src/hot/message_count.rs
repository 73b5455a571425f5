crate::id::numeric::numeric_id!(
    /// How many messages are unread, or mention somebody.
    MessageCount, "a count of messages", 0, 9_223_372_036_854_775_807
);

impl MessageCount {
    /// None.
    pub const ZERO: Self = Self(0);

    /// A count; beyond the bound it stays at the bound.
    #[must_use]
    pub const fn saturating(n: u64) -> Self {
        Self(if n > Self::MAX { Self::MAX } else { n })
    }
}
