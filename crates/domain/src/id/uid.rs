super::numeric::numeric_id!(
    /// A user: signed 64-bit in the IM and not negative.
    Uid, "uid", 0, i64::MAX as u64
);
