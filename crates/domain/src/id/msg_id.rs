super::numeric::numeric_id!(
    /// The IM's own id of a message: signed 64-bit and not negative.
    MsgId, "msg_id", 0, i64::MAX as u64
);
